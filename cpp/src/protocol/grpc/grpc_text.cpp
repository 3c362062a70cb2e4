#include "protocol/grpc/grpc_text.hpp"

#include <charconv>
#include <cstdint>

namespace asio_infer::grpc {

namespace {

/// 0 if there is no such unit.
constexpr std::int64_t nanoseconds_in(char unit) noexcept {
    switch (unit) {
        case 'H':
            return 3'600'000'000'000;
        case 'M':
            return 60'000'000'000;
        case 'S':
            return 1'000'000'000;
        case 'm':
            return 1'000'000;
        case 'u':
            return 1'000;
        case 'n':
            return 1;
        default:
            return 0;
    }
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_timeout(std::string_view text) noexcept {
    constexpr std::size_t most_digits = 8;
    if (text.size() < 2 || text.size() > most_digits + 1) return std::nullopt;
    const std::string_view digits = text.substr(0, text.size() - 1);
    std::int64_t count = 0;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    const std::int64_t unit = nanoseconds_in(text.back());
    if (failed != std::errc{} || end != digits.data() + digits.size() || count < 0 || unit == 0) return std::nullopt;
    constexpr auto most = std::chrono::nanoseconds::max();
    return count > most.count() / unit ? most : std::chrono::nanoseconds(count * unit);
}

std::string percent_encode(std::string_view text) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        if (c >= ' ' && c <= '~' && c != '%') {
            out += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out += '%';
            out += digits[byte >> 4];
            out += digits[byte & 0xf];
        }
    }
    return out;
}

}  // namespace asio_infer::grpc
