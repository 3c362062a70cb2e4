#include "runtime/log_record.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace asio_infer;

namespace {

const wall_time now{};

}  // namespace

TEST_CASE("a batch copies what it is given") {
    log_batch batch({});
    {
        std::string message = "message";
        std::string name = "name";
        std::string value = "value";
        REQUIRE(batch.add(now, log_level::error, message, {{name, std::string_view(value)}, {"n", std::int64_t{5}}}));
        message = name = value = "gone";
    }
    REQUIRE(batch.add(now, log_level::info, "second", {}));
    REQUIRE(batch.size() == 2);
    const log_record first = batch[0];
    CHECK(first.level == log_level::error);
    CHECK(first.message == "message");
    REQUIRE(first.fields.size() == 2);
    CHECK(first.fields[0] == log_field{"name", std::string_view("value")});
    CHECK(first.fields[1] == log_field{"n", std::int64_t{5}});
    CHECK(batch[1].message == "second");
    CHECK(batch[1].fields.empty());
    batch.clear();
    CHECK(batch.empty());
}

TEST_CASE("a batch is bounded in records and bytes") {
    log_batch by_records({.records = 2, .bytes = 100, .value_bytes = 10});
    CHECK(by_records.add(now, log_level::info, "a", {}));
    CHECK(by_records.add(now, log_level::info, "b", {}));
    CHECK_FALSE(by_records.add(now, log_level::info, "c", {}));
    CHECK(by_records.size() == 2);

    log_batch by_bytes({.records = 10, .bytes = 8, .value_bytes = 10});
    CHECK(by_bytes.add(now, log_level::info, "1234", {{"k", std::string_view("v")}}));
    CHECK_FALSE(by_bytes.add(now, log_level::info, "123", {}));
    CHECK(by_bytes.add(now, log_level::info, "12", {}));
    CHECK_FALSE(by_bytes.add(now, log_level::info, "1", {}));
    CHECK(by_bytes.add(now, log_level::info, "", {}));
    by_bytes.clear();
    CHECK(by_bytes.add(now, log_level::info, "12345678", {}));
}

TEST_CASE("long texts are cut") {
    log_batch batch({.records = 2, .bytes = 100, .value_bytes = 4});
    REQUIRE(batch.add(now, log_level::info, "message", {{"longname", std::string_view("longvalue")}}));
    CHECK(batch[0].message == "mess");
    CHECK(batch[0].fields[0] == log_field{"long", std::string_view("long")});
}
