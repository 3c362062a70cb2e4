#include "runtime/log_format.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace asio_infer;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

/// 2026-11-30T22:15:01.123Z
const wall_time moment{std::chrono::milliseconds(1'796'076'901'123)};

std::string line(const std::vector<log_field>& fields, log_format format, log_level level = log_level::info,
                 bool colours = false) {
    std::string out;
    append_log_line(out, {moment, level, "message", fields}, format, colours);
    return out;
}

std::string text(const log_value& value) { return line({{"k", value}}, log_format::text); }
std::string json(const log_value& value) { return line({{"k", value}}, log_format::json); }

const std::string text_start = "2026-11-30T22:15:01.123Z INFO  message k=";
const std::string json_start = R"({"time":"2026-11-30T22:15:01.123Z","level":"info","message":"message","k":)";

}  // namespace

TEST_CASE("times are UTC with milliseconds") {
    std::string out;
    append_time(out, wall_time{});
    CHECK(out == "1970-01-01T00:00:00.000Z");
    out.clear();
    append_time(out, wall_time(std::chrono::milliseconds(951'827'696'007)));
    CHECK(out == "2000-02-29T12:34:56.007Z");
}

TEST_CASE("levels have one width in text and their names in JSON") {
    const auto text_of = [](log_level level) { return line({}, log_format::text, level).substr(25); };
    CHECK(text_of(log_level::debug) == "DEBUG message\n");
    CHECK(text_of(log_level::info) == "INFO  message\n");
    CHECK(text_of(log_level::warning) == "WARN  message\n");
    CHECK(text_of(log_level::error) == "ERROR message\n");
    CHECK(line({}, log_format::json, log_level::warning) ==
          "{\"time\":\"2026-11-30T22:15:01.123Z\",\"level\":\"warning\",\"message\":\"message\"}\n");
}

TEST_CASE("colours are around the level only") {
    CHECK(line({}, log_format::text, log_level::error, true) ==
          "2026-11-30T22:15:01.123Z \x1b[31mERROR\x1b[0m message\n");
    CHECK(line({}, log_format::json, log_level::error, true).find('\x1b') == std::string::npos);
}

TEST_CASE("values of each kind") {
    CHECK(text(std::int64_t{-5}) == text_start + "-5\n");
    CHECK(text(std::uint64_t{18'446'744'073'709'551'615u}) == text_start + "18446744073709551615\n");
    CHECK(text(true) == text_start + "true\n");
    CHECK(text(0.12345) == text_start + "0.123\n");
    CHECK(text(2.0) == text_start + "2\n");
    CHECK(text(std::numeric_limits<double>::infinity()) == text_start + "inf\n");
    CHECK(json(std::numeric_limits<double>::quiet_NaN()) == json_start + "null}\n");
    CHECK(json(false) == json_start + "false}\n");
    CHECK(json(0.5) == json_start + "0.5}\n");
    CHECK(json("x"sv) == json_start + "\"x\"}\n");
}

TEST_CASE("text values are quoted where they could be misread") {
    CHECK(text("/v2/models/add"sv) == text_start + "/v2/models/add\n");
    CHECK(text("a b"sv) == text_start + "\"a b\"\n");
    CHECK(text("a=b"sv) == text_start + "\"a=b\"\n");
    CHECK(text(""sv) == text_start + "\"\"\n");
    CHECK(text("é"sv) == text_start + "\"é\"\n");
    CHECK(text("a\"b\\"sv) == text_start + R"("a\"b\\")" + "\n");
}

TEST_CASE("nothing in a value can make a second line, a second field or a colour") {
    const std::string hostile =
        "x\n2026-11-30T22:15:01.123Z INFO  forged k=v\r\x1b[31m\xc2\x85\xe2\x80\xa8\xff\"} {\0"s;
    for (const log_format format : {log_format::text, log_format::json}) {
        const std::string out = line({{"k", std::string_view(hostile)}}, format);
        CHECK(out.find('\n') == out.size() - 1);
        for (const char c : {'\r', '\x1b', '\0', '\xc2', '\xff'}) CHECK(out.find(c) == std::string::npos);
        CHECK(out.find("\xe2\x80\xa8") == std::string::npos);
    }
    CHECK(text(hostile) ==
          text_start + R"("x\n2026-11-30T22:15:01.123Z INFO  forged k=v\r\u001b[31m\u0085\u2028\xff\"} {\u0000")" +
              "\n");
    CHECK(json(hostile) ==
          json_start + R"("x\n2026-11-30T22:15:01.123Z INFO  forged k=v\r\u001b[31m\u0085\u2028\ufffd\"} {\u0000"})" +
              "\n");
}
