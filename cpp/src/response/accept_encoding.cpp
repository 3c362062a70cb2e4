#include "response/accept_encoding.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/ascii_case.hpp"

namespace asio_infer {
namespace {

std::string_view trim(std::string_view text) noexcept {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The part before the separator; `text` keeps what is behind it.
std::string_view cut(std::string_view& text, char separator) noexcept {
    const std::size_t at = std::min(text.find(separator), text.size());
    const std::string_view head = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return trim(head);
}

/// A qvalue in thousandths; nothing if it is not one.
std::optional<int> weight(std::string_view text) noexcept {
    if (text.empty() || (text[0] != '0' && text[0] != '1') || text.size() > 5) return std::nullopt;
    int value = (text[0] - '0') * 1000;
    if (text.size() == 1) return value;
    if (text[1] != '.') return std::nullopt;
    int unit = 100;
    for (const char c : text.substr(2)) {
        if (c < '0' || c > '9') return std::nullopt;
        value += (c - '0') * unit;
        unit /= 10;
    }
    return value <= 1000 ? std::optional(value) : std::nullopt;
}

/// The weight of one entry of the list, whose name has been cut off; 0 if it is malformed.
int weight_of(std::string_view parameters) noexcept {
    while (!parameters.empty()) {
        std::string_view value = cut(parameters, ';');
        if (equal_ignoring_case(cut(value, '='), "q")) return weight(trim(value)).value_or(0);
    }
    return 1000;
}

}  // namespace

content_coding choose_coding(std::string_view accept_encoding) noexcept {
    std::optional<int> gzip;
    std::optional<int> deflate;
    std::optional<int> identity;
    std::optional<int> any;
    while (!accept_encoding.empty()) {
        std::string_view entry = cut(accept_encoding, ',');
        const std::string_view name = cut(entry, ';');
        const int q = weight_of(entry);
        if (equal_ignoring_case(name, "gzip") || equal_ignoring_case(name, "x-gzip")) gzip = q;
        if (equal_ignoring_case(name, "deflate")) deflate = q;
        if (equal_ignoring_case(name, "identity")) identity = q;
        if (name == "*") any = q;
    }
    const int others = any.value_or(0);
    const int gzip_q = gzip.value_or(others);
    const int deflate_q = deflate.value_or(others);
    const int best = std::max(gzip_q, deflate_q);
    if (best == 0 || best < identity.value_or(0)) return content_coding::identity;
    return gzip_q == best ? content_coding::gzip : content_coding::deflate;
}

}  // namespace asio_infer
