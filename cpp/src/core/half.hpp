#pragma once

#include <bit>
#include <cstdint>

namespace asio_infer {

/// A number rounded to a 16-bit float.
struct rounded16 {
    std::uint16_t bits;
    bool overflow;  ///< a finite number became infinite
    bool tie;       ///< it lay exactly between two neighbours (and went to the even one)
};

namespace detail {

/// Rounds to the nearest value with this split of 16 bits, ties to even. Infinities stay, a NaN stays a NaN.
template <int exponent_bits, int mantissa_bits>
constexpr rounded16 round_to_16_bits(double value) noexcept {
    constexpr int bias = (1 << (exponent_bits - 1)) - 1;
    constexpr std::uint16_t infinity = ((1 << exponent_bits) - 1) << mantissa_bits;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000);
    const auto fraction = bits & ((std::uint64_t{1} << 52) - 1);
    const int biased = static_cast<int>(bits >> 52 & 0x7ff);
    if (biased == 0x7ff) {
        const auto quiet = static_cast<std::uint16_t>(1 << (mantissa_bits - 1) | fraction >> (52 - mantissa_bits));
        return {static_cast<std::uint16_t>(sign | infinity | (fraction != 0 ? quiet : 0)), false, false};
    }
    if (biased == 0) return {sign, false, false};  // far below the smallest value of either format
    const int exponent = biased - 1023;
    const std::uint64_t significand = fraction | std::uint64_t{1} << 52;
    const bool normal = exponent >= 1 - bias;
    const int shift = 52 - mantissa_bits + (normal ? 0 : 1 - bias - exponent);
    if (shift > 53) return {sign, false, false};
    const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t middle = std::uint64_t{1} << (shift - 1);
    std::uint64_t kept = significand >> shift;
    if (rest > middle || (rest == middle && (kept & 1) != 0)) ++kept;
    // The significand's top bit adds the last step of the exponent, and a carry out of it the next one.
    const std::int64_t base = normal ? std::int64_t{exponent + bias - 1} << mantissa_bits : 0;
    const std::int64_t magnitude = base + static_cast<std::int64_t>(kept);
    if (magnitude >= infinity) return {static_cast<std::uint16_t>(sign | infinity), true, rest == middle};
    return {static_cast<std::uint16_t>(sign | magnitude), false, rest == middle};
}

}  // namespace detail

/// To IEEE 754 binary16. A float converts to double exactly, so this serves both without rounding twice.
constexpr rounded16 round_to_fp16(double value) noexcept { return detail::round_to_16_bits<5, 10>(value); }
/// To bfloat16.
constexpr rounded16 round_to_bf16(double value) noexcept { return detail::round_to_16_bits<8, 7>(value); }

constexpr float bf16_to_float(std::uint16_t bits) noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

constexpr float fp16_to_float(std::uint16_t bits) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
    const std::uint32_t exponent = bits >> 10 & 0x1f;
    const std::uint32_t fraction = bits & 0x3ff;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
        return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + (127 - 15);
    return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace asio_infer
