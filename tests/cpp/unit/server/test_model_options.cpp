#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>

#include "server/model_loader.hpp"

using namespace asio_infer;

namespace {

/// What check_model_options says of a model that `change` has made unusual; "" if it is accepted.
std::string refusal(const std::function<void(model_options&)>& change) {
    model_options options;
    options.name = "m";
    change(options);
    try {
        check_model_options(options);
    } catch (const exception& e) {
        CHECK(e.code() == errc::invalid_request);
        return e.what();
    }
    return {};
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("model options: the defaults and the limits are accepted") {
    CHECK(refusal([](auto&) {}) == "");
    CHECK(refusal([](auto& o) { o.version = std::numeric_limits<std::int64_t>::max(); }) == "");
    CHECK(refusal([](auto& o) { o.instances = 1'024; }) == "");
    CHECK(refusal([](auto& o) { o.batching.max_rows = 1; }) == "");
    CHECK(refusal([](auto& o) { o.batching.max_rows = 65'536; }) == "");
    CHECK(refusal([](auto& o) { o.batching.max_delay_s = 86'400; }) == "");
    CHECK(refusal([](auto& o) { o.queue.max_size = 1; }) == "");
    CHECK(refusal([](auto& o) { o.queue.max_size = 1'000'000; }) == "");
    CHECK(refusal([](auto& o) { o.queue.timeout_s = 86'400; }) == "");
}

TEST_CASE("model options: a name that no model may have") {
    CHECK(refusal([](auto& o) { o.name = "a/b"; }) == "a model's name has no '/', '\\' or control characters");
    CHECK(refusal([](auto& o) { o.name.clear(); }) != "");
}

TEST_CASE("model options: numbers out of range are named with their value and range") {
    CHECK(refusal([](auto& o) { o.version = 0; }) == "version is 0; it must be at least 1");
    CHECK(refusal([](auto& o) { o.version = -3; }) == "version is -3; it must be at least 1");
    CHECK(refusal([](auto& o) { o.instances = 0; }) == "instances is 0; it must be from 1 to 1024");
    CHECK(refusal([](auto& o) { o.instances = 1'025; }) == "instances is 1025; it must be from 1 to 1024");
    CHECK(refusal([](auto& o) { o.batching.max_rows = 0; }) == "batching.max_size is 0; it must be from 1 to 65536");
    CHECK(refusal([](auto& o) { o.batching.max_rows = 65'537; }) != "");
    CHECK(refusal([](auto& o) { o.batching.max_delay_s = -0.5; }) ==
          "batching.max_delay_s is -0.500000; it must be from 0 to 86400");
    CHECK(refusal([](auto& o) { o.queue.max_size = 0; }) == "queue.max_size is 0; it must be from 1 to 1000000");
    CHECK(refusal([](auto& o) { o.queue.max_size = 1'000'001; }) != "");
    CHECK(refusal([](auto& o) { o.queue.timeout_s = 86'401; }) ==
          "queue.timeout_s is 86401; it must be from 0 to 86400");
}

TEST_CASE("model options: what is no number, or has no end") {
    for (const double value : {infinity, -infinity, not_a_number, 1e300}) {
        CHECK(refusal([=](auto& o) { o.batching.max_delay_s = value; }) != "");
        CHECK(refusal([=](auto& o) { o.queue.timeout_s = value; }) != "");
    }
    CHECK(refusal([](auto& o) { o.queue.timeout_s = infinity; }) ==
          "queue.timeout_s is inf; it must be from 0 to 86400");
}

TEST_CASE("model options: limits of batching are checked even where batching is off") {
    CHECK(refusal([](auto& o) {
              o.batching.choice = batching_options::mode::off;
              o.batching.max_rows = 0;
          }) != "");
}
