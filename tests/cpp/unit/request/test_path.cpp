#include "request/path.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace asio_infer;
using namespace std::string_literals;

namespace {

using segments = std::vector<std::string>;

segments parse(const std::string& target) {
    request_path path;
    const result<void> parsed = path.parse(target);
    if (parsed.has_error()) return {"error: " + parsed.error().message};
    segments found;
    for (std::size_t i = 0; i < std::min(path.size(), request_path::max_segments); ++i) found.emplace_back(path[i]);
    return found;
}

bool is_invalid(const std::string& target) {
    request_path path;
    const result<void> parsed = path.parse(target);
    return parsed.has_error() && parsed.error().code == errc::invalid_request;
}

}  // namespace

TEST_CASE("a target is split at its slashes and its query is left out") {
    CHECK(parse("/") == segments{});
    CHECK(parse("/v2") == segments{"v2"});
    CHECK(parse("/v2?x=/1%zz") == segments{"v2"});
    CHECK(parse("/?x") == segments{});
    CHECK(parse("/v2/models/add/infer") == segments{"v2", "models", "add", "infer"});
}

TEST_CASE("one slash at the end is tolerated, an empty segment stays") {
    CHECK(parse("/v2/") == segments{"v2"});
    CHECK(parse("/v2//") == segments{"v2", ""});
    CHECK(parse("//") == segments{""});
    CHECK(parse("//v2") == segments{"", "v2"});
    CHECK(parse("/v2//models") == segments{"v2", "", "models"});
}

TEST_CASE("segments are decoded once, after splitting") {
    CHECK(parse("/v2/%61dd") == segments{"v2", "add"});
    CHECK(parse("/a%2Fb/c") == segments{"a/b", "c"});
    CHECK(parse("/..%2fadd") == segments{"../add"});
    CHECK(parse("/%2561") == segments{"%61"});
    CHECK(parse("/a%20b/%C3%A9/%e2%82%ac") == segments{"a b", "\xc3\xa9", "\xe2\x82\xac"});
    CHECK(parse("/%3Fx/%23") == segments{"?x", "#"});
    CHECK(parse("/a+b") == segments{"a+b"});
}

TEST_CASE("views into decoded segments stay valid while more are decoded") {
    const std::string target = "/%61/%62/" + std::string(500, 'c') + "%63/%64";
    CHECK(parse(target) == segments{"a", "b", std::string(501, 'c'), "d"});
}

TEST_CASE("an escape that is none and a NUL are errors, wherever they are") {
    for (const std::string& target : {"/%"s, "/%6"s, "/%6g"s, "/%g6"s, "/a%/b"s, "/%6/1"s, "/%00"s, "/a%00b/c"s, "/\0"s,
                                      "/1/2/3/4/5/6/7/%zz"s, "/% 6"s, "/%+6"s}) {
        CAPTURE(target);
        CHECK(is_invalid(target));
    }
    CHECK(parse("/x%zz") == segments{"error: the path segment 'x%zz' has an invalid percent escape"});
}

TEST_CASE("the absolute form counts from its path on") {
    CHECK(parse("http://host:8000/v2/models") == segments{"v2", "models"});
    CHECK(parse("HTTPS://[::1]:8000/v2?x") == segments{"v2"});
    CHECK(parse("http://host") == segments{});
    CHECK(parse("http://host?x=/v2") == segments{});
    CHECK(parse("http://host//v2") == segments{"", "v2"});
    for (const std::string& target :
         {"http:///v2"s, "http://"s, "ftp://host/v2"s, "host:443"s, "v2"s, ""s, "*"s, "?x"s}) {
        CAPTURE(target);
        CHECK(is_invalid(target));
    }
}

TEST_CASE("segments beyond those of any route are counted only") {
    request_path path;
    REQUIRE(path.parse("/1/2/3/4/5/6/7/8").has_value());
    CHECK(path.size() == 8);
    CHECK(path[5] == "6");
    REQUIRE(path.parse("/again").has_value());
    CHECK(path.size() == 1);
}
