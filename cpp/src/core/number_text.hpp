#pragma once

#include <asio_infer/dtype.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace asio_infer {

/// Numbers as JSON writes them, exact in both directions and whatever the locale. All functions are pure.

/// Why a number's text is not a value of a type.
enum class number_fault : std::uint8_t {
    none,
    fraction,  ///< an integer type, and the number is not integral
    range,     ///< above or below what the type holds; for floats: it would become infinite
};

/// Converts the text of a JSON number to an element of `type`, written to `out` in the tensor's form.
/// Integers are exact: `4.0` and `1e2` are integers, `1.5` is not. Floats are the nearest value, ties to even, in one
/// rounding from the text; what is too small becomes a denormal or a zero of its sign.
/// Preconditions: `text` is a number by JSON's grammar; `type` is neither boolean nor bytes.
number_fault parse_number(std::string_view text, dtype type, std::byte* out) noexcept;

/// The same for a single value; `out` keeps its value on a fault.
number_fault parse_number(std::string_view text, std::int64_t& out) noexcept;
number_fault parse_number(std::string_view text, std::uint64_t& out) noexcept;
number_fault parse_number(std::string_view text, std::uint32_t& out) noexcept;
number_fault parse_number(std::string_view text, double& out) noexcept;

/// "is not an integer", "is out of range": the end of a sentence that starts with the number.
std::string_view describe(number_fault fault) noexcept;

/// Room that one printed number needs at most.
inline constexpr std::size_t max_number_text = 32;

/// Prints the shortest text that reads back to the same value of its type, and returns its end. A float has a point
/// or an exponent ("1.0", "-0.0"), so that readers which tell integers from floats get a float.
/// Preconditions: room for max_number_text; the value is finite.
char* print_number(char* out, std::int64_t value) noexcept;
char* print_number(char* out, std::uint64_t value) noexcept;
char* print_number(char* out, float value) noexcept;
char* print_number(char* out, double value) noexcept;
char* print_fp16(char* out, std::uint16_t bits) noexcept;
char* print_bf16(char* out, std::uint16_t bits) noexcept;

}  // namespace asio_infer
