#include "protocol/http2/rest_stream.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <utility>

#include "core/http_date.hpp"

namespace asio_infer::http2 {

namespace {

constexpr std::size_t uncounted_answer = 1024;

/// A number as text, which lives as long as this.
class number_text {
public:
    explicit number_text(std::size_t number) noexcept
        : size_(std::to_chars(digits_.data(), digits_.data() + digits_.size(), number).ptr - digits_.data()) {}
    std::string_view view() const noexcept { return {digits_.data(), static_cast<std::size_t>(size_)}; }

private:
    std::array<char, 20> digits_;
    std::ptrdiff_t size_;
};

}  // namespace

rest_stream::rest_stream(stream_owner& owner, std::int32_t id) noexcept
    : http2_stream(owner, id), body_(owner.context().budget) {}

std::size_t rest_stream::body_limit() const noexcept {
    return std::min(context().bounds.max_body_bytes, context().budget.limit());
}

result<void> rest_stream::check(const request_head& head) const {
    if (head.over_limit()) return error{errc::header_too_large, "the header is over its limit"};
    if (head.expects_something_else)
        return error{errc::expectation_failed, "the only expectation that is supported is 100-continue"};
    if (head.content_length.value_or(0) > body_limit())
        return error{errc::too_large, "the body has " + std::to_string(*head.content_length) + " bytes; the limit is " +
                                          std::to_string(body_limit())};
    return {};
}

void rest_stream::begin(request_head& head) {
    std::swap(request, head.request);
    if (const result<void> good = check(head); good.has_error()) return refuse(good.error());
    if (request_ended()) return request_complete();
    if (const result<void> admitted = context().handler.admit(request); admitted.has_error())
        return refuse(admitted.error());
    body_.lease.set_arriving(true);
    const std::size_t aligned_at = context().handler.tensor_start(request, {});
    if (head.content_length)
        body_.expect(static_cast<std::size_t>(*head.content_length), aligned_at);
    else
        body_.expect_some(body_limit(), aligned_at);
    if (head.expects_continue) {
        field_list interim;
        interim.add(":status", "100");
        owner_.send_interim(*this, interim);
    }
    expect_bytes(true);
    keep_window(body_, body_.room());
}

void rest_stream::take(std::span<const std::byte> bytes) {
    if (now_ != stage::receiving) return;
    if (bytes.size() > body_.room())
        return refuse({errc::too_large, "the body is over the limit of " + std::to_string(body_limit()) + " bytes"});
    if (!cover(body_, bytes.size())) return;
    body_.append(bytes);
    keep_window(body_, body_.room());
}

void rest_stream::go_on() {
    if (now_ == stage::receiving) keep_window(body_, body_.room());
}

void rest_stream::request_complete() {
    if (now_ != stage::receiving) return;
    body_.lease.resize(body_.size());
    request.body = body_.share();
    arrived = owner_.now();
    now_ = stage::handling;
    context().handler.handle(*this);
}

void rest_stream::refuse(const error& why) noexcept {
    if (now_ != stage::receiving) return;
    stop_receiving();
    body_.drop();
    arrived = owner_.now();
    now_ = stage::handling;
    context().handler.refuse(why, *this);
    complete();
}

void rest_stream::wind_down() noexcept {
    if (now_ == stage::receiving)
        refuse({errc::unavailable, "the server is stopping"});
    else if (pending)
        pending->wind_down();
}

void rest_stream::cancel() noexcept {
    if (now_ == stage::receiving) body_.drop();
    if (pending) pending->cancel();
}

void rest_stream::complete() noexcept {
    now_ = stage::answered;
    pending.reset();
    request.body = {};
    body_.lease.release();
    if (is_closed()) return owner_.changed();
    const std::size_t size = response.body_size();
    if (size > uncounted_answer && !lease_output(size)) {
        response.clear();
        context().handler.refuse(no_bytes_left(size), *this);
    }
    try {
        send_answer();
    } catch (const std::bad_alloc&) {
        owner_.reset(*this, NGHTTP2_INTERNAL_ERROR);
    }
    owner_.changed();
}

void rest_stream::send_answer() {
    const bool ends = request.method == verb::head || response.status == 204 || response.body_size() == 0;
    send_header_of(response, ends);
    if (ends) return;
    put(std::move(response.text));
    for (const buffer& part : response.parts) put(part);
    response.parts.clear();
    send(true, false);
}

void rest_stream::send_header_of(const response_message& x, bool ends) {
    const number_text status(static_cast<std::size_t>(x.status));
    const number_text length(x.body_size());
    const number_text json_length(x.json_length.value_or(0));
    const number_text retry_after(x.retry_after_s);
    field_list fields;
    fields.add(":status", status.view());
    fields.add("date", http_date());
    if (x.status != 204) {
        fields.add("content-type", x.content_type);
        fields.add("content-length", length.view());
    }
    if (x.json_length) fields.add("inference-header-content-length", json_length.view());
    if (!x.content_encoding.empty()) {
        fields.add("content-encoding", x.content_encoding);
        fields.add("vary", "Accept-Encoding");
    }
    if (!x.allow.empty()) fields.add("allow", x.allow);
    if (x.retry_after_s > 0) fields.add("retry-after", retry_after.view());
    if (x.challenge) fields.add("www-authenticate", "Bearer");
    if (!x.request_id.empty()) fields.add("x-request-id", x.request_id);
    answer(fields, ends);
}

}  // namespace asio_infer::http2
