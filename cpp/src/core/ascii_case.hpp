#pragma once

#include <algorithm>
#include <string_view>

namespace asio_infer {

/// Case as protocols mean it: of ASCII letters only, whatever the locale.
constexpr char to_lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return to_lower(x) == to_lower(y); });
}

constexpr bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) noexcept {
    return equal_ignoring_case(text.substr(0, prefix.size()), prefix);
}

}  // namespace asio_infer
