#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "core/half.hpp"

using namespace asio_infer;

namespace {

std::uint16_t fp16(double value) { return round_to_fp16(value).bits; }
std::uint16_t bf16(double value) { return round_to_bf16(value).bits; }

/// Checks every pair of neighbours among the non-negative finite values: each value maps to itself, the midpoint goes
/// to the even one, and what lies next to the midpoint goes to its own side.
template <rounded16 round(double) noexcept, float widen(std::uint16_t) noexcept>
int wrong_roundings(std::uint16_t last_finite) {
    int wrong = 0;
    for (std::uint16_t low = 0; low < last_finite; ++low) {
        const auto high = static_cast<std::uint16_t>(low + 1);
        const double below = widen(low);
        const double above = widen(high);
        const double middle = (below + above) / 2;
        const double infinity = std::numeric_limits<double>::infinity();
        wrong += round(below).bits != low || round(below).tie || round(below).overflow;
        wrong += round(-below).bits != (low | 0x8000);
        wrong += round(middle).bits != (low % 2 == 0 ? low : high) || !round(middle).tie;
        wrong += round(-middle).bits != ((low % 2 == 0 ? low : high) | 0x8000);
        wrong += round(std::nextafter(middle, 0.0)).bits != low;
        wrong += round(std::nextafter(middle, infinity)).bits != high;
    }
    return wrong;
}

}  // namespace

TEST_CASE("fp16: every value, every midpoint and its neighbours round right") {
    CHECK(wrong_roundings<round_to_fp16, fp16_to_float>(0x7bff) == 0);
}

TEST_CASE("bf16: every value, every midpoint and its neighbours round right") {
    CHECK(wrong_roundings<round_to_bf16, bf16_to_float>(0x7f7f) == 0);
}

TEST_CASE("fp16: known values") {
    CHECK(fp16(1.0) == 0x3c00);
    CHECK(fp16(-2.0) == 0xc000);
    CHECK(fp16(65504.0) == 0x7bff);
    CHECK(fp16(0x1p-24) == 0x0001);
    CHECK(fp16(-0.0) == 0x8000);
    CHECK(fp16_to_float(0x3c00) == 1.0F);
    CHECK(fp16_to_float(0x0001) == 0x1p-24F);
    CHECK(std::isinf(fp16_to_float(0x7c00)));
    CHECK(fp16_to_float(0xfc00) == -std::numeric_limits<float>::infinity());
    CHECK(std::isnan(fp16_to_float(0x7e00)));
    CHECK(std::signbit(fp16_to_float(0x8000)));
}

TEST_CASE("fp16: overflow starts at the midpoint behind the largest value") {
    CHECK_FALSE(round_to_fp16(65519.99).overflow);
    CHECK(fp16(65519.99) == 0x7bff);
    CHECK(round_to_fp16(65520.0).overflow);
    CHECK(fp16(65520.0) == 0x7c00);
    CHECK(round_to_fp16(-1e300).overflow);
    CHECK(fp16(-1e300) == 0xfc00);
    CHECK_FALSE(round_to_fp16(std::numeric_limits<double>::infinity()).overflow);
}

TEST_CASE("fp16 and bf16: NaN stays NaN, infinity stays infinity, tiny becomes a zero of its sign") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK((fp16(nan) & 0x7e00) == 0x7e00);
    CHECK((bf16(nan) & 0x7fc0) == 0x7fc0);
    CHECK(fp16(-std::numeric_limits<double>::infinity()) == 0xfc00);
    CHECK(bf16(std::numeric_limits<double>::infinity()) == 0x7f80);
    CHECK(fp16(-1e-300) == 0x8000);
    CHECK(bf16(5e-324) == 0x0000);
    CHECK(fp16(0x1p-25) == 0x0000);  // midpoint between 0 and the smallest: to the even zero
    CHECK(fp16(0x1.8p-25) == 0x0001);
}

TEST_CASE("bf16: known values") {
    CHECK(bf16(1.0) == 0x3f80);
    CHECK(bf16(3.3895313892515355e38) == 0x7f7f);
    CHECK(round_to_bf16(3.3961775292304601e38).overflow);
    CHECK(bf16_to_float(0x3f80) == 1.0F);
    CHECK(bf16_to_float(0xc000) == -2.0F);
    CHECK(bf16_to_float(0x0001) == 0x1p-133F);
}
