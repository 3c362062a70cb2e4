#include "protocol/http1/request_parser.hpp"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>

namespace asio_infer::http1 {

namespace http = boost::beast::http;

namespace {

verb to_verb(http::verb method) noexcept {
    switch (method) {
        case http::verb::get:
            return verb::get;
        case http::verb::head:
            return verb::head;
        case http::verb::post:
            return verb::post;
        case http::verb::options:
            return verb::options;
        default:
            return verb::other;
    }
}

error describe(const boost::beast::error_code& ec) {
    if (ec == http::error::header_limit) return {errc::header_too_large, "the header is over its limit"};
    return {errc::invalid_request, "malformed HTTP request: " + ec.message()};
}

/// A line that starts with a blank continues the one before.
bool has_folded_line(std::string_view header) noexcept {
    for (auto at = header.find('\n'); at != std::string_view::npos; at = header.find('\n', at + 1))
        if (at + 1 < header.size() && (header[at + 1] == ' ' || header[at + 1] == '\t')) return true;
    return false;
}

/// Beast lets a quoted chunk extension contain a line feed, where another reader may see the line's end.
bool has_control(std::string_view extensions) noexcept {
    return std::any_of(extensions.begin(), extensions.end(),
                       [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; });
}

/// The headers that later stages read, by the names that Beast does not know.
std::optional<header> other_header(std::string_view name) noexcept {
    for (const header each : {header::inference_header_content_length, header::request_id})
        if (boost::beast::iequals(header_names[static_cast<std::size_t>(each)], name)) return each;
    return std::nullopt;
}

}  // namespace

request_parser::request_parser(request_head& head, chunk_sink& sink, std::size_t max_header_bytes)
    : head_(head), sink_(sink) {
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    header_limit(static_cast<std::uint32_t>(std::min(max_header_bytes, most)));
    body_limit(boost::none);  // the guard and the sink have the limits, with messages
}

std::size_t request_parser::parse(std::string_view bytes, std::optional<error>& failure) {
    std::size_t used = 0;
    const bool in_header = !is_header_done();
    while (!is_done() && (!in_header || !is_header_done())) {
        boost::beast::error_code ec;
        used += put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), ec);
        if (ec == http::error::need_more) break;
        if (ec) {
            failure = describe(ec);
            break;
        }
        if (used == bytes.size() && is_header_done()) break;
    }
    if (in_header && has_folded_line(bytes.substr(0, used))) head_.folded = true;
    return used;
}

void request_parser::on_request_impl(verb_type method, text method_name, text target, int version, code&) {
    head_.request->method = to_verb(method);
    head_.request->method_name.assign(method_name.data(), method_name.size());
    head_.request->target.assign(target.data(), target.size());
    head_.version = version;
}

void request_parser::on_field_impl(field_type field, text name, text value, code&) {
    const std::string_view content{value.data(), value.size()};
    header_values& headers = head_.request->headers;
    switch (field) {
        case field_type::host:
            return headers.add(header::host, content);
        case field_type::content_type:
            return headers.add(header::content_type, content);
        case field_type::content_encoding:
            return headers.add(header::content_encoding, content);
        case field_type::accept_encoding:
            return headers.add(header::accept_encoding, content);
        case field_type::authorization:
            return headers.add(header::authorization, content);
        case field_type::content_length:
            if (head_.content_length_count++ == 0) head_.content_length.assign(content);
            return;
        case field_type::transfer_encoding:
            if (head_.transfer_encoding_count++ == 0) head_.transfer_encoding.assign(content);
            return;
        case field_type::expect:
            if (head_.expect_count++ == 0) head_.expect.assign(content);
            return;
        case field_type::unknown:
            if (const auto known = other_header({name.data(), name.size()})) headers.add(*known, content);
            return;
        default:
            return;
    }
}

void request_parser::on_chunk_header_impl(std::uint64_t size, text extensions, code& ec) {
    extension_bytes_ += extensions.size();
    if (extension_bytes_ > max_chunk_extensions || has_control({extensions.data(), extensions.size()}))
        ec = http::error::bad_chunk_extension;
    if (size == 0) in_trailer_ = true;
}

std::size_t request_parser::on_chunk_body_impl(std::uint64_t remain, text body, code& ec) {
    if (!sink_.on_chunk({body.data(), body.size()}, remain)) ec = http::error::body_limit;
    return body.size();
}

/// A trailer may not change how the message is framed or routed (RFC 9110, 6.5.1).
void request_parser::on_trailer_field_impl(field_type field, text, text, code& ec) {
    if (field == field_type::content_length || field == field_type::transfer_encoding || field == field_type::host)
        ec = http::error::bad_field;
}

}  // namespace asio_infer::http1
