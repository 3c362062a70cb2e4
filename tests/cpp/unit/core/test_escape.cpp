#include "core/escape.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace asio_infer;
using namespace std::string_literals;

namespace {

std::string escaped(std::string_view text, escape_style style) {
    std::string out;
    append_escaped(out, text, style);
    return out;
}

}  // namespace

TEST_CASE("UTF-8 is judged by the Unicode standard's table") {
    for (const std::string& good :
         {"a"s, "\xc3\xa9"s, "\xe2\x82\xac"s, "\xed\x9f\xbf"s, "\xf0\x9f\x98\x80"s, "\xf4\x8f\xbf\xbf"s}) {
        CAPTURE(good);
        CHECK(utf8_sequence_length(good, 0) == good.size());
        CHECK(is_utf8(good));
    }
    for (const std::string& bad :
         {"\x80"s, "\xc1\xbf"s, "\xc3"s, "\xe0\x80\x80"s, "\xed\xa0\x80"s, "\xe2\x82"s, "\xf0\x80\x80\x80"s,
          "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s, "\xff"s, "\xe2\x82\x41"s}) {
        CHECK(utf8_sequence_length(bad, 0) == 0);
        CHECK_FALSE(is_utf8("ok" + bad));
    }
}

TEST_CASE("what could forge a line, a field or a JSON string is escaped") {
    const std::string text = "a\r\n\t\x1b[31m\"\\\x7f"s;
    CHECK(escaped(text, escape_style::json) == R"(a\r\n\t\u001b[31m\"\\\u007f)");
    CHECK(escaped(text, escape_style::quoted) == R"(a\r\n\t\u001b[31m\"\\\u007f)");
    CHECK(escaped(text, escape_style::message) == R"(a\r\n\t\u001b[31m"\\u007f)");
    CHECK(escaped("\0x"s, escape_style::json) == R"(\u0000x)");
}

TEST_CASE("well-formed text stays, deceiving characters and other bytes do not") {
    CHECK(escaped("é€😀", escape_style::quoted) == "é€😀");
    CHECK(escaped("\xc2\x9b", escape_style::quoted) == R"(\u009b)");
    CHECK(escaped("\xe2\x80\xa8", escape_style::json) == R"(\u2028)");
    CHECK(escaped("\xe2\x80\xae", escape_style::message) == R"(\u202e)");
    CHECK(escaped("a\xff"
                  "b\xc3",
                  escape_style::quoted) == R"(a\xffb\xc3)");
    CHECK(escaped("a\xff"
                  "b",
                  escape_style::json) == R"(a\ufffdb)");
}

TEST_CASE("printable keeps whole characters and says what it left out") {
    CHECK(printable("abc", 3) == "abc");
    CHECK(printable("abcd", 3) == "abc...");
    CHECK(printable("ab\xc3\xa9", 3) == "ab...");
    CHECK(printable("ab\xc3\xa9", 4) == "ab\xc3\xa9");
    CHECK(printable("\x80\x80\x80\x80\x80\x80", 5) == R"(\x80\x80...)");
    CHECK(printable("", 3).empty());
}
