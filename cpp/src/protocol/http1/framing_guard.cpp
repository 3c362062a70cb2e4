#include "protocol/http1/framing_guard.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "core/ascii_case.hpp"

namespace asio_infer::http1 {

namespace {

bool contains_word(std::string_view list, std::string_view word) noexcept {
    for (std::size_t at = 0; at + word.size() <= list.size(); ++at)
        if (equal_ignoring_case(list.substr(at, word.size()), word)) return true;
    return false;
}

error bad(std::string message) { return {errc::invalid_request, std::move(message)}; }

result<framing> check_transfer_encoding(const request_head& head) {
    if (head.version == 10) return bad("Transfer-Encoding in an HTTP/1.0 request");
    if (head.content_length_count > 0) return bad("Content-Length beside Transfer-Encoding");
    framing chunked;
    chunked.body = framing::kind::chunked;
    if (head.transfer_encoding_count == 1 && equal_ignoring_case(head.transfer_encoding, "chunked")) return chunked;
    if (head.transfer_encoding_count > 1 || contains_word(head.transfer_encoding, "chunked"))
        return bad("Transfer-Encoding must be \"chunked\", once");
    return error{errc::not_implemented, "the transfer coding is not supported; only \"chunked\" is"};
}

result<framing> check_content_length(const request_head& head, const limits& limits) {
    if (head.content_length_count > 1) return bad("Content-Length is given more than once");
    const std::string_view text = head.content_length;
    std::uint64_t length = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (text.empty() || end != text.data() + text.size() || failure == std::errc::invalid_argument)
        return bad("Content-Length is not a decimal number");
    if (failure != std::errc{} || length > limits.max_body_bytes)
        return error{errc::too_large, "the body has " + std::string(text) + " bytes; the limit is " +
                                          std::to_string(limits.max_body_bytes)};
    framing counted;
    counted.body = length > 0 ? framing::kind::length : framing::kind::none;
    counted.length = static_cast<std::size_t>(length);
    return counted;
}

result<framing> check_body(const request_head& head, const limits& limits) {
    if (head.transfer_encoding_count > 0) return check_transfer_encoding(head);
    if (head.content_length_count > 0) return check_content_length(head, limits);
    return framing{};
}

}  // namespace

result<framing> check_framing(const request_head& head, const limits& limits) {
    if (head.folded) return bad("a header line is continued on the next line");
    const std::size_t hosts = head.request->headers.count(header::host);
    if (hosts > 1) return bad("Host is given more than once");
    if (hosts == 0 && head.version == 11) return bad("Host is missing");
    result<framing> body = check_body(head, limits);
    if (!body || head.expect_count == 0) return body;
    if (head.expect_count > 1 || !equal_ignoring_case(head.expect, "100-continue"))
        return error{errc::expectation_failed, "the only expectation that is supported is 100-continue"};
    body->expects_continue = head.version == 11 && body->body != framing::kind::none;
    return body;
}

}  // namespace asio_infer::http1
