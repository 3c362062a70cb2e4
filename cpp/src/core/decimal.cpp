#include "core/decimal.hpp"

#include <algorithm>
#include <limits>

namespace asio_infer {
namespace {

constexpr std::int64_t exponent_limit = 1'000'000'000'000;  // no type and no text in memory comes near it

std::int64_t read_exponent(std::string_view text) noexcept {
    const bool negative = text.front() == '-';
    if (negative || text.front() == '+') text.remove_prefix(1);
    std::int64_t value = 0;
    for (const char c : text) value = std::min(value * 10 + (c - '0'), exponent_limit);
    return negative ? -value : value;
}

/// The significant digits one after the other, then zeros without end.
class digit_reader {
public:
    explicit digit_reader(std::string_view text) noexcept : text_(text) {}
    int next() noexcept {
        if (at_ < text_.size() && text_[at_] == '.') ++at_;
        return at_ < text_.size() ? text_[at_++] - '0' : 0;
    }

private:
    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

decimal::decimal(std::string_view number) noexcept {
    negative_ = number.front() == '-';
    if (negative_) number.remove_prefix(1);
    std::int64_t exponent = 0;
    if (const std::size_t e = number.find_first_of("eE"); e != number.npos) {
        exponent = read_exponent(number.substr(e + 1));
        number = number.substr(0, e);
    }
    const std::size_t first = number.find_first_of("123456789");
    if (first == number.npos) return;
    const std::size_t last = number.find_last_of("123456789");
    const std::size_t point = std::min(number.find('.'), number.size());
    text_ = number.substr(first, last - first + 1);
    const bool point_inside = first < point && point < last;
    digits_ = static_cast<std::int64_t>(text_.size()) - (point_inside ? 1 : 0);
    const auto behind_point = static_cast<std::int64_t>(last) - static_cast<std::int64_t>(point);
    last_ = exponent - (behind_point > 0 ? behind_point : behind_point + 1);
}

std::optional<std::uint64_t> decimal::integer() const noexcept {
    if (zero()) return 0;
    if (last_ < 0 || magnitude() > 19) return std::nullopt;
    std::uint64_t value = 0;
    digit_reader reader(text_);
    for (std::int64_t i = 0; i <= magnitude(); ++i) {
        const auto digit = static_cast<std::uint64_t>(reader.next());
        if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
        value = value * 10 + digit;
    }
    return value;
}

int decimal::compare_magnitude(const decimal& other) const noexcept {
    if (zero() || other.zero()) return static_cast<int>(other.zero()) - static_cast<int>(zero());
    if (magnitude() != other.magnitude()) return magnitude() < other.magnitude() ? -1 : 1;
    digit_reader left(text_);
    digit_reader right(other.text_);
    for (std::int64_t i = std::max(digits_, other.digits_); i > 0; --i)
        if (const int difference = left.next() - right.next(); difference != 0) return difference;
    return 0;
}

}  // namespace asio_infer
