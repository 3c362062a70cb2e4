#include "protocol/http1/http1_exchange.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/http_date.hpp"
#include "protocol/http1/reason_phrase.hpp"

namespace asio_infer::http1 {

namespace {

constexpr std::string_view continue_line = "HTTP/1.1 100 Continue\r\n\r\n";
/// Bodies up to this are copied behind the headers: cheaper than another entry in the list of buffers.
constexpr std::size_t merge_limit = 16 * 1024;

std::span<const std::byte> bytes_of(std::string_view text) noexcept { return std::as_bytes(std::span(text)); }

void append_number(std::string& out, std::size_t number) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    out.append(digits, end);
}

/// Tells clients that heed it when an idle connection will be closed, so that they do not reuse one in that moment.
void add_idle_time(std::string& out, std::chrono::milliseconds idle_timeout) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(idle_timeout).count();
    if (seconds < 1) return;
    out.append("\r\nKeep-Alive: timeout=");
    append_number(out, static_cast<std::size_t>(seconds));
}

}  // namespace

void http1_exchange::reset() noexcept {
    now = stage::receiving;
    head.clear();
    request.body = {};
    response.clear();
    body = {};
    body_size = 0;
    lease.release();
    last = announce_continue = merged_ = probes_ = false;
    total_ = sent_ = continue_sent_ = 0;
}

void http1_exchange::add_headers(bool last_on_connection, std::chrono::milliseconds idle_timeout) {
    start_.assign("HTTP/1.1 ");
    append_number(start_, static_cast<std::size_t>(response.status));
    start_.append(1, ' ').append(reason_phrase(response.status)).append("\r\nDate: ").append(http_date());
    if (response.status != 204) {
        start_.append("\r\nContent-Type: ").append(response.content_type).append("\r\nContent-Length: ");
        append_number(start_, response.body_size());
    }
    if (response.json_length) {
        start_.append("\r\nInference-Header-Content-Length: ");
        append_number(start_, *response.json_length);
    }
    if (!response.content_encoding.empty())
        start_.append("\r\nContent-Encoding: ").append(response.content_encoding).append("\r\nVary: Accept-Encoding");
    if (!response.allow.empty()) start_.append("\r\nAllow: ").append(response.allow);
    if (response.retry_after_s > 0) {
        start_.append("\r\nRetry-After: ");
        append_number(start_, response.retry_after_s);
    }
    if (response.challenge) start_.append("\r\nWWW-Authenticate: Bearer");
    if (!response.request_id.empty()) start_.append("\r\nX-Request-Id: ").append(response.request_id);
    if (last_on_connection) {
        start_.append("\r\nConnection: close");
    } else {
        if (head.version == 10) start_.append("\r\nConnection: keep-alive");
        add_idle_time(start_, idle_timeout);
    }
    start_.append("\r\n\r\n");
}

void http1_exchange::lay_out(bool last_on_connection, std::chrono::milliseconds idle_timeout) {
    add_headers(last_on_connection, idle_timeout);
    const std::size_t body_bytes = has_body() ? response.body_size() : 0;
    merged_ = body_bytes <= merge_limit;
    if (merged_ && body_bytes > 0) {
        start_.append(response.text);
        for (const buffer& part : response.parts)
            start_.append(reinterpret_cast<const char*>(part.data()), part.size());
        response.parts.clear();
    }
    total_ = start_.size() + (merged_ ? 0 : body_bytes);
    sent_ = 0;
}

std::size_t http1_exchange::to_send(std::span<std::span<const std::byte>> out) const noexcept {
    std::size_t filled = 0;
    std::size_t skip = 0;
    const auto add = [&](std::span<const std::byte> piece) {
        const std::size_t cut = std::min(skip, piece.size());
        skip -= cut;
        if (cut < piece.size() && filled < out.size()) out[filled++] = piece.subspan(cut);
    };
    if (announces()) {
        skip = continue_sent_;
        add(bytes_of(continue_line));
    }
    if (now != stage::answered) return filled;
    skip = sent_;
    add(bytes_of(start_));
    if (merged_ || !has_body()) return filled;
    add(bytes_of(response.text));
    for (const buffer& part : response.parts) add(part.bytes());
    return filled;
}

std::size_t http1_exchange::sent(std::size_t n) noexcept {
    if (announces()) {
        const std::size_t part = std::min(n, continue_line.size() - continue_sent_);
        continue_sent_ += part;
        n -= part;
        if (continue_sent_ == continue_line.size()) {
            announce_continue = probes_ = false;
            continue_sent_ = 0;
        }
    }
    if (now != stage::answered) return n;
    const std::size_t part = std::min(n, total_ - sent_);
    sent_ += part;
    return n - part;
}

}  // namespace asio_infer::http1
