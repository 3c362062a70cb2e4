#include "protocol/http2/request_head.hpp"

#include <charconv>

#include "core/ascii_case.hpp"

namespace asio_infer::http2 {

namespace {

constexpr std::size_t field_overhead = 32;  ///< RFC 9113, 6.5.2
constexpr std::string_view grpc_type = "application/grpc";

verb to_verb(std::string_view method) noexcept {
    if (method == "GET") return verb::get;
    if (method == "HEAD") return verb::head;
    if (method == "POST") return verb::post;
    if (method == "OPTIONS") return verb::options;
    return verb::other;
}

}  // namespace

void request_head::clear() noexcept {
    request.form = payload::json;
    request.compressed = request.streamed = false;
    request.method = verb::get;
    request.method_name.clear();
    request.target.clear();
    request.headers.clear();
    request.body = {};
    content_length.reset();
    expects_continue = expects_something_else = false;
    size_ = 0;
}

void request_head::add(std::string_view name, std::string_view value) {
    size_ += name.size() + value.size() + field_overhead;
    if (over_limit()) return;
    if (name == ":method") {
        request.method = to_verb(value);
        request.method_name.assign(value);
    } else if (name == ":path") {
        request.target.assign(value);
    } else if (name == ":authority") {
        request.headers.add(header::host, value);
    } else if (name == "content-length") {
        std::uint64_t length = 0;  // nghttp2 lets only one decimal number through
        std::from_chars(value.data(), value.data() + value.size(), length);
        content_length = length;
    } else if (name == "expect") {
        (equal_ignoring_case(value, "100-continue") ? expects_continue : expects_something_else) = true;
    } else {
        for (std::size_t i = 0; i < header_names.size(); ++i)
            if (header_names[i] == name) return request.headers.add(static_cast<header>(i), value);
    }
}

bool request_head::is_grpc() const noexcept {
    return starts_with_ignoring_case(request.headers[header::content_type], grpc_type);
}

}  // namespace asio_infer::http2
