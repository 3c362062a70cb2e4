#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/registry.hpp"

using namespace asio_infer;

namespace {

struct named_model final : served_model {
    named_model(std::string name, std::int64_t version) {
        spec_.name = std::move(name);
        spec_.version = version;
    }
    bool ready() const noexcept override { return true; }
    void submit(infer_call_ptr, task_executor*, bool) noexcept override {}
    void cancel(const call_receiver&) noexcept override {}
    void open() noexcept override {}
    void close(const error&, bool) noexcept override {}
};

model_ptr model(std::string name, std::int64_t version) {
    return std::make_shared<named_model>(std::move(name), version);
}

using texts = std::vector<std::string>;

texts names_of(const std::vector<model_ptr>& models) {
    texts names;
    for (const model_ptr& each : models)
        names.push_back(each->spec().name + ":" + std::to_string(each->spec().version));
    return names;
}

struct fixture {
    fixture() {
        for (const std::int64_t version : {2, 10, 1}) {
            const auto added = models.add(model("b", version), false);
            REQUIRE_FALSE(added.has_error());
            CHECK(*added == nullptr);
        }
        CHECK_FALSE(models.add(model("a", 7), false).has_error());
    }
    registry models;
};

}  // namespace

TEST_CASE("registry: without a version the highest number is found, not the newest or the longest text") {
    fixture f;
    CHECK(f.models.find("b", std::nullopt).value()->spec().version == 10);
    CHECK(f.models.find("b", 2).value()->spec().version == 2);
    CHECK(f.models.find("a", std::nullopt).value()->spec().version == 7);
}

TEST_CASE("registry: what is not there is named") {
    fixture f;
    const auto no_model = f.models.find("c", std::nullopt);
    REQUIRE(no_model.has_error());
    CHECK(no_model.error().code == errc::not_found);
    CHECK(no_model.error().message == "unknown model 'c'");
    const auto no_version = f.models.find("b", 3);
    REQUIRE(no_version.has_error());
    CHECK(no_version.error().code == errc::not_found);
    CHECK(no_version.error().message == "model 'b' has no version 3");
    CHECK(f.models.find("B", std::nullopt).has_error());
    CHECK(f.models.find("", std::nullopt).has_error());
}

TEST_CASE("registry: lists are ordered by name and then by number") {
    fixture f;
    CHECK(names_of(f.models.all()) == texts{"a:7", "b:1", "b:2", "b:10"});
    CHECK(names_of(f.models.versions("b")) == texts{"b:1", "b:2", "b:10"});
    CHECK(f.models.versions("c").empty());
    CHECK(f.models.contains("b", 2));
    CHECK_FALSE(f.models.contains("b", 3));
    CHECK_FALSE(f.models.contains("c", 2));
}

TEST_CASE("registry: the same name and version again is refused, unless it replaces") {
    fixture f;
    const model_ptr before = f.models.find("b", 2).value();
    const model_ptr after = model("b", 2);
    const auto refused = f.models.add(after, false);
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == errc::already_exists);
    CHECK(refused.error().message.find("'b' version 2") != std::string::npos);
    CHECK(f.models.find("b", 2).value() == before);

    const auto replaced = f.models.add(after, true);
    REQUIRE_FALSE(replaced.has_error());
    CHECK(*replaced == before);
    CHECK(f.models.find("b", 2).value() == after);
    CHECK(*f.models.add(model("new", 1), true) == nullptr);  // nothing to replace
}

TEST_CASE("registry: one version or all are removed; who holds one keeps it") {
    fixture f;
    const model_ptr held = f.models.find("b", 10).value();
    CHECK(names_of(f.models.remove("b", 10).value()) == texts{"b:10"});
    CHECK(held->spec().version == 10);
    CHECK(f.models.find("b", std::nullopt).value()->spec().version == 2);
    CHECK(f.models.remove("b", 10).error().message == "model 'b' has no version 10");
    CHECK(names_of(f.models.remove("b", std::nullopt).value()) == texts{"b:1", "b:2"});
    CHECK(f.models.remove("b", std::nullopt).error().message == "unknown model 'b'");
    CHECK(names_of(f.models.remove("a", 7).value()) == texts{"a:7"});
    CHECK(f.models.find("a", 7).error().message == "unknown model 'a'");  // its last version is gone
    CHECK(f.models.all().empty());
}

TEST_CASE("registry: a refused or failed change leaves no trace") {
    registry models;
    CHECK(models.remove("x", 1).has_error());
    CHECK(models.find("x", std::nullopt).error().code == errc::not_found);
    CHECK(models.all().empty());
}

TEST_CASE("registry: ready is what it is told") {
    registry models;
    CHECK_FALSE(models.ready());
    models.set_ready(true);
    CHECK(models.ready());
    models.set_ready(false);
    CHECK_FALSE(models.ready());
}

TEST_CASE("check_model_name") {
    const std::string wide = "\xc3\xa4";  // two bytes
    std::string longest;
    for (int i = 0; i < 128; ++i) longest += wide;
    for (const std::string& name :
         {std::string("a"), std::string("a b"), std::string("..."), std::string(".a"), std::string("a%2Fb"),
          std::string("\xe6\xa8\xa1\xe5\x9e\x8b"), longest, std::string(256, 'x')}) {
        CAPTURE(name);
        CHECK_FALSE(check_model_name(name).has_error());
    }
    for (const std::string& name :
         {std::string(), std::string(257, 'x'), longest + "x", std::string("."), std::string(".."), std::string("a/b"),
          std::string("a\\b"), std::string("a\nb"), std::string("a\0b", 3), std::string("a\x7f"), std::string("\xff"),
          std::string("\xc3"), std::string("\xed\xa0\x80")}) {
        CAPTURE(name);
        const auto checked = check_model_name(name);
        REQUIRE(checked.has_error());
        CHECK(checked.error().code == errc::invalid_request);
    }
    CHECK(check_model_name("").error().message == "a model's name has 1 to 256 bytes; this one has 0");
}
