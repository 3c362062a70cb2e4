#include "core/number_text.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "core/decimal.hpp"
#include "core/half.hpp"

namespace asio_infer {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors hold little-endian elements");

template <std::integral T>
number_fault integer_by_digits(std::string_view text, T& out) noexcept {
    const decimal number(text);
    if (!number.integral()) return number_fault::fraction;
    const std::optional<std::uint64_t> value = number.integer();
    if (!value) return number_fault::range;
    if (!number.negative()) {
        if (!std::in_range<T>(*value)) return number_fault::range;
        out = static_cast<T>(*value);
        return number_fault::none;
    }
    constexpr std::uint64_t lowest = std::uint64_t{0} - static_cast<std::uint64_t>(std::numeric_limits<T>::min());
    if (*value > lowest) return number_fault::range;
    out = static_cast<T>(std::uint64_t{0} - *value);
    return number_fault::none;
}

template <std::integral T>
number_fault read(std::string_view text, T& out) noexcept {
    const char* const end = text.data() + text.size();
    T value{};
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem == std::errc{} && stop == end) {
        out = value;
        return number_fault::none;
    }
    return integer_by_digits(text, out);
}

template <std::floating_point T>
number_fault read(std::string_view text, T& out) noexcept {
    T value{};
    const auto outcome = std::from_chars(text.data(), text.data() + text.size(), value);
    if (outcome.ec == std::errc{}) {
        out = value;
        return number_fault::none;
    }
    const decimal number(text);
    if (number.magnitude() > 0) return number_fault::range;
    out = number.negative() ? -T{0} : T{0};
    return number_fault::none;
}

/// The neighbour of `value` on the side where the text's exact value lies, or `value` itself if they are equal. A
/// double that lies between two 16-bit floats may itself have been rounded there.
double lean_to_text(std::string_view text, double value) noexcept {
    constexpr int exact = 120;  // digits: enough for every midpoint between two 16-bit floats
    char buffer[exact + 16];
    const auto printed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific, exact);
    const decimal midpoint({buffer, static_cast<std::size_t>(printed.ptr - buffer)});
    const int side = decimal(text).compare_magnitude(midpoint);
    if (side == 0) return value;
    const double away = std::copysign(std::numeric_limits<double>::infinity(), value);
    return std::nextafter(value, side > 0 ? away : 0.0);
}

template <rounded16 round(double) noexcept>
number_fault read_16_bits(std::string_view text, std::uint16_t& out) noexcept {
    double value = 0;
    if (const number_fault fault = read(text, value); fault != number_fault::none) return fault;
    rounded16 rounded = round(value);
    if (rounded.tie) rounded = round(lean_to_text(text, value));
    if (rounded.overflow) return number_fault::range;
    out = rounded.bits;
    return number_fault::none;
}

template <class T>
number_fault store(number_fault (*parse)(std::string_view, T&) noexcept, std::string_view text,
                   std::byte* out) noexcept {
    T value{};
    const number_fault fault = parse(text, value);
    std::memcpy(out, &value, sizeof value);
    return fault;
}

template <class T>
char* print(char* out, T value) noexcept {
    return std::to_chars(out, out + max_number_text, value).ptr;
}

/// Adds ".0" to digits alone.
template <class T>
char* print_float(char* out, T value) noexcept {
    char* end = print(out, value);
    for (const char* c = out; c != end; ++c)
        if (*c == '.' || *c == 'e') return end;
    *end++ = '.';
    *end++ = '0';
    return end;
}

/// The value with that many digits, if it still rounds to the same bits.
template <rounded16 round(double) noexcept>
std::optional<double> shortened(float value, std::uint16_t bits, int digits) noexcept {
    char buffer[max_number_text];
    const auto printed =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific, digits - 1);
    double read_back = 0;
    std::from_chars(buffer, printed.ptr, read_back);
    const rounded16 again = round(read_back);
    return again.bits == bits && !again.overflow ? std::optional(read_back) : std::nullopt;
}

template <rounded16 round(double) noexcept>
char* print_16_bits(char* out, float value, std::uint16_t bits) noexcept {
    constexpr int usual_digits = 3;
    constexpr int most_digits = 5;  // of fp16; bf16 needs fewer
    double best = value;
    int digits = usual_digits;
    std::optional<double> found = shortened<round>(value, bits, digits);
    if (found) {
        while (found) {
            best = *found;
            found = --digits > 0 ? shortened<round>(value, bits, digits) : std::nullopt;
        }
    } else {
        while (!found && ++digits <= most_digits) found = shortened<round>(value, bits, digits);
        best = found.value_or(best);
    }
    return print_float(out, best);
}

}  // namespace

number_fault parse_number(std::string_view text, std::int64_t& out) noexcept { return read(text, out); }
number_fault parse_number(std::string_view text, std::uint64_t& out) noexcept { return read(text, out); }
number_fault parse_number(std::string_view text, std::uint32_t& out) noexcept { return read(text, out); }
number_fault parse_number(std::string_view text, double& out) noexcept { return read(text, out); }

number_fault parse_number(std::string_view text, dtype type, std::byte* out) noexcept {
    switch (type) {
        case dtype::uint8:
            return store<std::uint8_t>(read, text, out);
        case dtype::uint16:
            return store<std::uint16_t>(read, text, out);
        case dtype::uint32:
            return store<std::uint32_t>(read, text, out);
        case dtype::uint64:
            return store<std::uint64_t>(read, text, out);
        case dtype::int8:
            return store<std::int8_t>(read, text, out);
        case dtype::int16:
            return store<std::int16_t>(read, text, out);
        case dtype::int32:
            return store<std::int32_t>(read, text, out);
        case dtype::int64:
            return store<std::int64_t>(read, text, out);
        case dtype::fp16:
            return store<std::uint16_t>(read_16_bits<round_to_fp16>, text, out);
        case dtype::bf16:
            return store<std::uint16_t>(read_16_bits<round_to_bf16>, text, out);
        case dtype::fp32:
            return store<float>(read, text, out);
        case dtype::fp64:
            return store<double>(read, text, out);
        case dtype::boolean:
        case dtype::bytes:
            break;
    }
    return number_fault::range;
}

std::string_view describe(number_fault fault) noexcept {
    return fault == number_fault::fraction ? "is not an integer" : "is out of range";
}

char* print_number(char* out, std::int64_t value) noexcept { return print(out, value); }
char* print_number(char* out, std::uint64_t value) noexcept { return print(out, value); }
char* print_number(char* out, float value) noexcept { return print_float(out, value); }
char* print_number(char* out, double value) noexcept { return print_float(out, value); }
char* print_fp16(char* out, std::uint16_t bits) noexcept {
    return print_16_bits<round_to_fp16>(out, fp16_to_float(bits), bits);
}
char* print_bf16(char* out, std::uint16_t bits) noexcept {
    return print_16_bits<round_to_bf16>(out, bf16_to_float(bits), bits);
}

}  // namespace asio_infer
