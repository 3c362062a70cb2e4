#include "request/path.hpp"

#include "core/ascii_case.hpp"
#include "core/escape.hpp"

namespace asio_infer {

namespace {

constexpr int hex_value(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// What follows "http://host:port" in the absolute form; "/" where nothing does.
std::string_view without_authority(std::string_view target) noexcept {
    for (const std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
        if (!starts_with_ignoring_case(target, scheme)) continue;
        const std::size_t path = target.find_first_of("/?", scheme.size());
        if (path == scheme.size() || target.size() == scheme.size()) return {};  // no host
        if (path == std::string_view::npos || target[path] == '?') return "/";
        return target.substr(path);
    }
    return target;
}

error bad_escape(std::string_view segment) {
    return {errc::invalid_request, "the path segment '" + printable(segment) + "' has an invalid percent escape"};
}

}  // namespace

result<void> request_path::parse(std::string_view target) {
    size_ = 0;
    decoded_.clear();
    std::string_view path = without_authority(target);
    path = path.substr(0, path.find('?'));
    if (path.empty() || path.front() != '/') {
        return error{errc::invalid_request, "the request target '" + printable(target) + "' is not a path"};
    }
    for (std::size_t begin = 1; begin < path.size();) {
        const std::size_t slash = path.find('/', begin);
        const std::size_t end = slash == std::string_view::npos ? path.size() : slash;
        if (const result<void> added = add(path.substr(begin, end - begin), path.size()); added.has_error()) {
            return added.error();
        }
        begin = end + 1;
    }
    return {};
}

result<void> request_path::add(std::string_view raw, std::size_t longest) {
    std::string_view segment = raw;
    if (raw.find('%') != std::string_view::npos) {
        if (decoded_.empty()) decoded_.reserve(longest);
        const result<std::string_view> decoded = decode(raw);
        if (decoded.has_error()) return decoded.error();
        segment = *decoded;
    }
    if (segment.find('\0') != std::string_view::npos) {
        return error{errc::invalid_request, "the path segment '" + printable(raw) + "' contains a NUL character"};
    }
    if (size_ < max_segments) segments_[size_] = segment;
    ++size_;
    return {};
}

result<std::string_view> request_path::decode(std::string_view raw) {
    const std::size_t begin = decoded_.size();
    for (std::size_t i = 0; i < raw.size(); ++i) {
        if (raw[i] != '%') {
            decoded_ += raw[i];
            continue;
        }
        const int high = i + 1 < raw.size() ? hex_value(raw[i + 1]) : -1;
        const int low = i + 2 < raw.size() ? hex_value(raw[i + 2]) : -1;
        if (high < 0 || low < 0) return bad_escape(raw);
        decoded_ += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return std::string_view(decoded_).substr(begin);
}

}  // namespace asio_infer
