#include <doctest/doctest.h>

#include <bit>
#include <clocale>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "core/half.hpp"
#include "core/number_text.hpp"

using namespace asio_infer;

namespace {

template <class T>
struct parsed {
    number_fault fault;
    T value;
    bool operator==(const parsed&) const = default;
};

template <class T>
parsed<T> parse(std::string_view text, dtype type) {
    std::byte bytes[8]{};
    const number_fault fault = parse_number(text, type, bytes);
    T value{};
    std::memcpy(&value, bytes, sizeof value);
    return {fault, fault == number_fault::none ? value : T{}};
}

template <class T>
std::string print(T value) {
    char text[max_number_text];
    return {text, print_number(text, value)};
}
std::string print16(char* (*printer)(char*, std::uint16_t) noexcept, std::uint16_t bits) {
    char text[max_number_text];
    return {text, printer(text, bits)};
}

using enum number_fault;

}  // namespace

TEST_CASE("integers: digit by digit, at the ends of every type") {
    CHECK(parse<std::int64_t>("9007199254740993", dtype::int64).value == 9007199254740993);
    CHECK(parse<std::int64_t>("9223372036854775807", dtype::int64).value == std::numeric_limits<std::int64_t>::max());
    CHECK(parse<std::int64_t>("-9223372036854775808", dtype::int64).value == std::numeric_limits<std::int64_t>::min());
    CHECK(parse<std::uint64_t>("18446744073709551615", dtype::uint64).value ==
          std::numeric_limits<std::uint64_t>::max());
    struct row {
        dtype type;
        const char* text;
        number_fault fault;
    };
    const row rows[]{
        {dtype::int64, "9223372036854775808", range},
        {dtype::int64, "-9223372036854775809", range},
        {dtype::uint64, "18446744073709551616", range},
        {dtype::uint64, "-1", range},
        {dtype::int32, "2147483647", none},
        {dtype::int32, "2147483648", range},
        {dtype::int32, "-2147483648", none},
        {dtype::int32, "-2147483649", range},
        {dtype::uint32, "4294967295", none},
        {dtype::uint32, "4294967296", range},
        {dtype::int16, "32767", none},
        {dtype::int16, "32768", range},
        {dtype::int16, "-32768", none},
        {dtype::int16, "-32769", range},
        {dtype::uint16, "65535", none},
        {dtype::uint16, "65536", range},
        {dtype::int8, "127", none},
        {dtype::int8, "128", range},
        {dtype::int8, "-128", none},
        {dtype::int8, "-129", range},
        {dtype::uint8, "255", none},
        {dtype::uint8, "256", range},
        {dtype::uint8, "300", range},
        {dtype::uint8, "-1", range},
        {dtype::uint8, "-0", none},
        {dtype::uint8, "1.5", fraction},
        {dtype::int64, "1e-1", fraction},
        {dtype::int64, "0.1e0", fraction},
        {dtype::int64, "1e999999999999999999999", range},
        {dtype::int64, "0e999999999999999999999", none},
        {dtype::int64, "1e-999999999999999999999", fraction},
        {dtype::uint64, "1e19", none},
        {dtype::uint64, "1e20", range},
        {dtype::uint64, "2e19", range},
        {dtype::int64, "1e19", range},
        {dtype::uint64, "18446744073709551615.0", none},
        {dtype::uint64, "18446744073709551615.5", fraction},
        {dtype::uint64, "1844674407370955161.6e1", range},
    };
    for (const row& r : rows) {
        CAPTURE(std::string(r.text));
        std::byte out[8]{};
        CHECK(parse_number(r.text, r.type, out) == r.fault);
    }
}

TEST_CASE("integers: integral with a point or an exponent") {
    const auto good = [](std::int64_t value) { return parsed<std::int64_t>{none, value}; };
    CHECK(parse<std::int64_t>("4.0", dtype::int64) == good(4));
    CHECK(parse<std::int64_t>("1e2", dtype::int64) == good(100));
    CHECK(parse<std::int64_t>("1E+2", dtype::int64) == good(100));
    CHECK(parse<std::int64_t>("-1.20e1", dtype::int64) == good(-12));
    CHECK(parse<std::int64_t>("1200e-2", dtype::int64) == good(12));
    CHECK(parse<std::int64_t>("0.0012e4", dtype::int64) == good(12));
    CHECK(parse<std::int64_t>("100.500e1", dtype::int64) == good(1005));
    CHECK(parse<std::int64_t>("-9223372036854775808.000", dtype::int64) ==
          good(std::numeric_limits<std::int64_t>::min()));
    CHECK(parse<std::int64_t>("-0.0", dtype::int64) == good(0));
    CHECK(parse<std::uint8_t>("1e2", dtype::uint8) == parsed<std::uint8_t>{none, 100});
}

TEST_CASE("a fault leaves a single value as it was") {
    std::uint32_t value = 7;
    CHECK(parse_number("-1", value) == range);
    CHECK(parse_number("1.5", value) == fraction);
    CHECK(value == 7);
    double real = 3;
    CHECK(parse_number("1e400", real) == range);
    CHECK(real == 3);
}

TEST_CASE("fp32: one rounding from the text") {
    CHECK(parse<float>("0.1", dtype::fp32).value == 0.1F);
    CHECK(parse<float>("16777217", dtype::fp32).value == 16777216.0F);
    // Above the midpoint of two floats by less than a double can hold: through a double it would go down.
    CHECK(parse<float>("1.000000059604644775390626", dtype::fp32).value == 1.00000012F);
    CHECK(parse<float>("1e39", dtype::fp32).fault == range);
    CHECK(parse<float>("-1e39", dtype::fp32).fault == range);
    CHECK(parse<float>("3.4028235e38", dtype::fp32).value == std::numeric_limits<float>::max());
    CHECK(parse<float>("1.17e-38", dtype::fp32).value == 1.17e-38F);
    CHECK(parse<float>("1e-45", dtype::fp32).value == std::numeric_limits<float>::denorm_min());
    CHECK(parse<float>("1e-60", dtype::fp32) == parsed<float>{none, 0.0F});
    CHECK(std::signbit(parse<float>("-1e-60", dtype::fp32).value));
    CHECK(std::signbit(parse<float>("-0.0", dtype::fp32).value));
}

TEST_CASE("fp64: ends and zeros") {
    CHECK(parse<double>("5e-324", dtype::fp64).value == std::numeric_limits<double>::denorm_min());
    CHECK(parse<double>("1.7976931348623157e308", dtype::fp64).value == std::numeric_limits<double>::max());
    CHECK(parse<double>("1e309", dtype::fp64).fault == range);
    CHECK(parse<double>("1e-400", dtype::fp64) == parsed<double>{none, 0.0});
    CHECK(parse<double>("9007199254740993", dtype::fp64).value == 9007199254740992.0);
}

TEST_CASE("fp16: from the text, ties to even, no second rounding") {
    CHECK(parse<std::uint16_t>("1.0", dtype::fp16).value == 0x3c00);
    CHECK(parse<std::uint16_t>("65504", dtype::fp16).value == 0x7bff);
    CHECK(parse<std::uint16_t>("65519.999999999999999999999", dtype::fp16).value == 0x7bff);
    CHECK(parse<std::uint16_t>("65520", dtype::fp16).fault == range);
    CHECK(parse<std::uint16_t>("-65520", dtype::fp16).fault == range);
    CHECK(parse<std::uint16_t>("1e400", dtype::fp16).fault == range);
    CHECK(parse<std::uint16_t>("1.00048828125", dtype::fp16).value == 0x3c00);
    CHECK(parse<std::uint16_t>("1.000488281250000000000000000001", dtype::fp16).value == 0x3c01);
    CHECK(parse<std::uint16_t>("-1.000488281250000000000000000001", dtype::fp16).value == 0xbc01);
    CHECK(parse<std::uint16_t>("1.00146484374999999999999999", dtype::fp16).value == 0x3c01);
    CHECK(parse<std::uint16_t>("1.00146484375", dtype::fp16).value == 0x3c02);
    CHECK(parse<std::uint16_t>("100146484375e-11", dtype::fp16).value == 0x3c02);
    CHECK(parse<std::uint16_t>("1e-10", dtype::fp16).value == 0x0000);
    CHECK(parse<std::uint16_t>("-1e-10", dtype::fp16).value == 0x8000);
}

TEST_CASE("bf16: from the text") {
    CHECK(parse<std::uint16_t>("1", dtype::bf16).value == 0x3f80);
    CHECK(parse<std::uint16_t>("1.00390625", dtype::bf16).value == 0x3f80);
    CHECK(parse<std::uint16_t>("1.00390625000000000000000000000001", dtype::bf16).value == 0x3f81);
    CHECK(parse<std::uint16_t>("3.4e38", dtype::bf16).fault == range);
    CHECK(parse<std::uint16_t>("1e-45", dtype::bf16).value == 0);
}

TEST_CASE("printing: shortest, floats told from integers") {
    CHECK(print(std::int64_t{-9007199254740993}) == "-9007199254740993");
    CHECK(print(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
    CHECK(print(0.1F) == "0.1");
    CHECK(print(0.1) == "0.1");
    CHECK(print(static_cast<double>(0.1F)) == "0.10000000149011612");
    CHECK(print(6e-7F) == "6e-07");
    CHECK(print(1e38F) == "1e+38");
    CHECK(print(5e-324) == "5e-324");
    CHECK(print(1.0F) == "1.0");
    CHECK(print(16777216.0F) == "16777216.0");
    CHECK(print(-0.0F) == "-0.0");
    CHECK(print(-0.0) == "-0.0");
    CHECK(print16(print_fp16, 0x2e66) == "0.1");
    CHECK(print16(print_fp16, 0x8000) == "-0.0");
    CHECK(print16(print_fp16, 0x0001) == "6e-08");
    CHECK(print16(print_fp16, 0x3c01) == "1.001");
    CHECK(print16(print_bf16, 0x3dcd) == "0.1");
    CHECK(print16(print_bf16, 0x7f7f) == "3.39e+38");
}

TEST_CASE("printing and parsing: every fp16 and bf16 comes back") {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto value = static_cast<std::uint16_t>(bits);
        if ((value & 0x7c00) != 0x7c00)
            wrong += parse<std::uint16_t>(print16(print_fp16, value), dtype::fp16).value != value;
        if ((value & 0x7f80) != 0x7f80)
            wrong += parse<std::uint16_t>(print16(print_bf16, value), dtype::bf16).value != value;
    }
    CHECK(wrong == 0);
}

TEST_CASE("printing and parsing: random fp32 and fp64 come back bit by bit") {
    std::mt19937_64 random(42);
    int wrong = 0;
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t bits = random();
        const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        const auto wide = std::bit_cast<double>(bits);
        if (std::isfinite(narrow))
            wrong += std::bit_cast<std::uint32_t>(parse<float>(print(narrow), dtype::fp32).value) !=
                     std::bit_cast<std::uint32_t>(narrow);
        if (std::isfinite(wide))
            wrong += std::bit_cast<std::uint64_t>(parse<double>(print(wide), dtype::fp64).value) !=
                     std::bit_cast<std::uint64_t>(wide);
    }
    CHECK(wrong == 0);
}

TEST_CASE("the locale's decimal comma has no effect") {
    // Where no such locale is installed this checks the default one again.
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE"})
        if (std::setlocale(LC_ALL, name) != nullptr) break;
    CHECK(print(0.5F) == "0.5");
    CHECK(parse<double>("0.5", dtype::fp64).value == 0.5);
    std::setlocale(LC_ALL, "C");
}
