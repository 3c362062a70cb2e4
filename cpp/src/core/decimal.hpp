#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace asio_infer {

/// A decimal number's text taken apart: sign, significant digits and the power of ten of the last one. Views the
/// text, whatever its length; digits are read one by one.
class decimal {
public:
    /// Precondition: a number by JSON's grammar.
    explicit decimal(std::string_view number) noexcept;

    bool negative() const noexcept { return negative_; }
    bool zero() const noexcept { return digits_ == 0; }
    /// The power of ten of the first significant digit. Saturates far beyond every type's range.
    std::int64_t magnitude() const noexcept { return last_ + digits_ - 1; }
    bool integral() const noexcept { return zero() || last_ >= 0; }
    /// The value without its sign if it is integral and fits.
    std::optional<std::uint64_t> integer() const noexcept;
    /// Compares without the signs: below 0, 0, above 0.
    int compare_magnitude(const decimal& other) const noexcept;

private:
    std::string_view text_;    // from the first significant digit to the last, perhaps with a point inside
    std::int64_t digits_ = 0;  // significant ones: no zeros at either end
    std::int64_t last_ = 0;    // power of ten of the last digit
    bool negative_ = false;
};

}  // namespace asio_infer
