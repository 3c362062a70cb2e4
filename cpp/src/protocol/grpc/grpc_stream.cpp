#include "protocol/grpc/grpc_stream.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/ascii_case.hpp"
#include "core/escape.hpp"
#include "core/inflate.hpp"
#include "core/later.hpp"
#include "core/status_table.hpp"
#include "protocol/grpc/grpc_text.hpp"

namespace asio_infer::grpc {

namespace {

using http2::field_list;

/// A client that does not read its answers is sent no more than this ahead; its next requests wait.
constexpr std::size_t most_unsent = 1024 * 1024;

/// "application/grpc" alone, with "+proto" or with parameters.
bool is_protobuf(std::string_view content_type) noexcept {
    std::string_view rest =
        content_type.substr(std::min(content_type.size(), std::string_view("application/grpc").size()));
    if (starts_with_ignoring_case(rest, "+proto")) rest.remove_prefix(6);
    return rest.empty() || rest.front() == ';' || rest.front() == ' ';
}

}  // namespace

grpc_stream::grpc_stream(http2::stream_owner& owner, std::int32_t id) noexcept
    : http2_stream(owner, id), body_(owner.context().budget) {}

/// What one message may have: more than all requests together may hold would wait for ever.
std::size_t grpc_stream::message_limit() const noexcept {
    return std::min(context().bounds.max_body_bytes, context().budget.limit());
}

// The request

result<void> grpc_stream::check(const http2::request_head& head) {
    if (head.over_limit()) return error{errc::header_too_large, "the header is over its limit"};
    if (header_.method != verb::post) return error{errc::method_not_allowed, "gRPC calls are made with POST"};
    const header_values& headers = header_.headers;
    if (headers.count(header::grpc_timeout) > 0) {
        const auto timeout = parse_timeout(headers[header::grpc_timeout]);
        if (!timeout)
            return error{errc::invalid_request,
                         "grpc-timeout '" + printable(headers[header::grpc_timeout], 40) + "' is none"};
        due_ = later(owner_.now(), *timeout);
    }
    if (!parse_body_coding(headers[header::grpc_encoding]))
        return error{errc::not_implemented, "grpc-encoding '" + printable(headers[header::grpc_encoding], 40) +
                                                "' is not supported; send gzip, deflate or identity"};
    if (kind_ == rpc_kind::unknown)
        return error{errc::not_implemented, "there is no method '" + printable(header_.target) + "'"};
    return context().handler.admit(header_);
}

void grpc_stream::begin(http2::request_head& head) {
    std::swap(header_, head.request);
    header_.form = payload::protobuf;
    if (!is_protobuf(header_.headers[header::content_type])) {
        field_list fields;
        fields.add(":status", "415");
        finished_ = true;
        return answer(fields, true);
    }
    kind_ = context().handler.kind_of_rpc(header_.target);
    header_.streamed = kind_ == rpc_kind::stream;
    if (const result<void> good = check(head); good.has_error()) return refuse(good.error());
    if (request_ended()) return request_complete();
    wait_for_more();
}

void grpc_stream::take(std::span<const std::byte> bytes) {
    if (finished_ || stopping_) return;
    if (held_.empty()) read(bytes);
    held_.insert(held_.end(), bytes.begin(), bytes.end());
    wait_for_more();
}

/// Takes messages off `bytes` while there may be more of them.
void grpc_stream::read(std::span<const std::byte>& bytes) {
    if (std::exchange(reading_, true)) return;
    while (!bytes.empty() && !finished_ && (in_message_ || !full())) {
        if (!in_message_) {
            bytes = bytes.subspan(prefix_.take(bytes));
            if (!prefix_.complete()) break;
            begin_message(bytes);
            if (finished_) break;
        }
        const std::size_t part = std::min(bytes.size(), body_.room());
        if (!cover(body_, part)) break;
        body_.append(bytes.first(part));
        bytes = bytes.subspan(part);
        if (body_.room() == 0) message_complete();
    }
    reading_ = false;
}

/// Whether the client has to wait before its next message is looked at.
bool grpc_stream::full() const noexcept {
    return messages_.size() >= context().bounds.max_pipelined_requests || output_size() > most_unsent;
}

void grpc_stream::begin_message(std::span<const std::byte> following) {
    const std::size_t length = prefix_.length();
    if (prefix_.flag() > 1) return refuse({errc::invalid_request, "the message's first byte is neither 0 nor 1"});
    const bool coded = parse_body_coding(header_.headers[header::grpc_encoding]) != body_coding::identity;
    if (prefix_.flag() == 1 && !coded)
        return refuse({errc::invalid_request, "the message is compressed, but no grpc-encoding says how"});
    if (length > message_limit())
        return refuse({errc::too_large, "the message has " + std::to_string(length) + " bytes; the limit is " +
                                            std::to_string(message_limit())});
    if (kind_ != rpc_kind::stream && count_ > 0)
        return refuse({errc::invalid_request, "the method takes one message, and a second one came"});
    const std::string_view first_bytes{reinterpret_cast<const char*>(following.data()), following.size()};
    body_.lease.set_arriving(true);
    body_.expect(length, prefix_.flag() == 1 ? 0 : context().handler.tensor_start(header_, first_bytes));
    in_message_ = true;
}

void grpc_stream::message_complete() {
    in_message_ = false;
    ++count_;
    std::unique_ptr<grpc_message> m = make_message();
    m->request.compressed = prefix_.flag() == 1;
    prefix_.clear();
    body_.lease.resize(body_.size());
    m->request.body = body_.share();
    m->lease = std::exchange(body_.lease, byte_lease(context().budget));
    m->arrived = owner_.now();
    m->due = due_;
    if (kind_ == rpc_kind::stream)
        hand_over(std::move(m));
    else
        waiting_ = std::move(m);
}

std::unique_ptr<grpc_message> grpc_stream::make_message() {
    std::unique_ptr<grpc_message> made = std::move(spare_);
    if (!made) made = std::make_unique<grpc_message>(static_cast<message_owner&>(*this), context().budget);
    if (kind_ == rpc_kind::stream)
        made->request = header_;
    else
        std::swap(made->request, header_);
    return made;
}

void grpc_stream::hand_over(std::unique_ptr<grpc_message> message) {
    messages_.push_back(std::move(message));
    context().handler.handle(*messages_.back());
}

/// The clock runs while a message is half there, and, where there is one message only, until the client has ended.
void grpc_stream::wait_for_more() noexcept {
    if (finished_ || stopping_ || request_ended()) return;
    body_.lease.set_arriving(true);
    expect_bytes(kind_ != rpc_kind::stream || in_message_ || prefix_.begun());
    if (in_message_)
        keep_window(body_, body_.room() + message_prefix::size);
    else if (held_.empty())
        keep_window(body_, message_limit());
}

void grpc_stream::go_on() {
    if (finished_) return;
    if (stopping_ && messages_.empty()) return refuse({errc::unavailable, "the server is stopping"});
    if (!held_.empty()) {
        const std::vector<std::byte> waited = std::exchange(held_, {});
        std::span<const std::byte> rest = waited;
        read(rest);
        held_.insert(held_.begin(), rest.begin(), rest.end());
    }
    wait_for_more();
    end_if_done();
}

void grpc_stream::request_complete() {
    if (finished_) return;
    if (!held_.empty()) return;  // go_on() comes back to it
    if (in_message_ || prefix_.begun()) {
        const std::size_t there = in_message_ ? body_.size() : 0;
        const std::string whole = in_message_ ? std::to_string(prefix_.length()) : "unknown";
        return refuse({errc::invalid_request,
                       "the message ends early: " + std::to_string(there) + " of its " + whole + " bytes came"});
    }
    if (kind_ == rpc_kind::stream) return end_if_done();
    if (!waiting_) return refuse({errc::invalid_request, "the call ended without a message"});
    hand_over(std::move(waiting_));
}

void grpc_stream::end_if_done() noexcept {
    if (finished_ || kind_ != rpc_kind::stream || !request_ended() || !messages_.empty() || !held_.empty()) return;
    if (in_message_ || prefix_.begun()) return request_complete();
    finish(0, {}, 0);
}

// The answer

void grpc_stream::answered(grpc_message& m) noexcept {
    const auto at =
        std::find_if(messages_.begin(), messages_.end(), [&](const auto& each) { return each.get() == &m; });
    std::unique_ptr<grpc_message> done = std::move(*at);
    messages_.erase(at);
    done->pending.reset();
    done->request.body = {};
    done->lease.release();
    if (!finished_ && !is_closed()) answer_with(*done);
    if (kind_ == rpc_kind::stream && !finished_ && !is_closed()) {
        done->response.clear();
        spare_ = std::move(done);
        try {
            go_on();
        } catch (const std::bad_alloc&) {
            out_of_memory();
        }
    }
    owner_.changed();
}

/// Sends the message's answer, and the status if it ends the call.
void grpc_stream::answer_with(grpc_message& m) noexcept {
    response_message& x = m.response;
    // A stream goes on behind the answer to an inference that failed, unless the client wants it to end.
    const bool failed = x.grpc_status != 0;
    const bool item = failed && kind_ == rpc_kind::stream && x.body_size() > 0 &&
                      m.request.headers[header::triton_grpc_error] != "true";
    if (kind_ != rpc_kind::watch && (!failed || item) && !send_messages_of(x)) {
        const std::size_t size = x.body_size();
        x.clear();
        context().handler.refuse(no_bytes_left(size), m);
        return finish(x.grpc_status, x.grpc_message, x.retry_after_s);
    }
    if (kind_ != rpc_kind::stream || (failed && !item)) finish(x.grpc_status, x.grpc_message, x.retry_after_s);
}

void grpc_stream::part_answered(grpc_message& m) noexcept {
    if (!finished_ && !is_closed() && !send_messages_of(m.response))
        finish(status_of(errc::unavailable).grpc, "the bytes of the answers in flight are at their limit", 1);
    m.response.clear();
    owner_.changed();
}

/// False if the budget has no bytes for it, or there is no memory.
bool grpc_stream::send_messages_of(response_message& answer) noexcept {
    if (!lease_output(answer.body_size() + message_prefix::size)) return false;
    try {
        send_message(answer);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void grpc_stream::send_message(response_message& x) {
    if (!std::exchange(header_sent_, true)) {
        field_list fields;
        fields.add(":status", "200");
        fields.add("content-type", "application/grpc");
        fields.add("grpc-accept-encoding", "identity,deflate,gzip");
        if (!x.content_encoding.empty()) fields.add("grpc-encoding", x.content_encoding);
        if (!x.request_id.empty()) fields.add("x-request-id", x.request_id);
        answer(fields, false);
    }
    const auto prefix = message_prefix::print(!x.content_encoding.empty(), x.body_size());
    put(std::span<const std::byte>(prefix));
    put(std::move(x.text));
    for (const buffer& part : x.parts) put(part);
    x.parts.clear();
    x.text.clear();
    send(false, false);
}

/// The call is over for this reason, or for none.
void grpc_stream::finish(int status, std::string_view message, std::uint32_t retry_after_s) noexcept {
    if (std::exchange(finished_, true)) return;
    stop_receiving();
    body_.drop();
    held_.clear();
    waiting_.reset();
    status_ = status;
    retry_after_s_ = retry_after_s;
    try {
        status_text_ = percent_encode(message);
    } catch (const std::bad_alloc&) {
        status_text_.clear();
    }
    if (header_sent_)
        send(true, true);
    else
        submit_trailer();
    cancel_messages();
}

/// Nobody waits for their answers any more.
void grpc_stream::cancel_messages() noexcept {
    // An operation may complete inside the call, which takes its message off the list.
    for (auto each = messages_.begin(); each != messages_.end();) {
        grpc_message& m = **each++;
        if (m.pending) m.pending->cancel();
    }
}

void grpc_stream::submit_trailer() noexcept {
    char digits[12];
    char milliseconds[24];
    const std::string_view status{digits, std::to_chars(digits, digits + sizeof digits, status_).ptr};
    field_list fields;
    if (!header_sent_) {
        fields.add(":status", "200");
        fields.add("content-type", "application/grpc");
        fields.add("grpc-accept-encoding", "identity,deflate,gzip");
    }
    fields.add("grpc-status", status);
    if (!status_text_.empty()) fields.add("grpc-message", status_text_);
    if (retry_after_s_ > 0) {
        const auto end =
            std::to_chars(milliseconds, milliseconds + sizeof milliseconds, std::uint64_t{retry_after_s_} * 1'000);
        fields.add("grpc-retry-pushback-ms", {milliseconds, end.ptr});
    }
    if (header_sent_)
        owner_.send_trailer(*this, fields);
    else
        answer(fields, true);
}

void grpc_stream::refuse(const error& why) noexcept {
    if (finished_) return;
    grpc_message refused(*this, context().budget);
    std::swap(refused.request.headers, header_.headers);
    refused.request.form = payload::protobuf;
    refused.request.streamed = kind_ == rpc_kind::stream;
    refused.arrived = owner_.now();
    context().handler.refuse(why, refused);
    finish(refused.response.grpc_status, refused.response.grpc_message, refused.response.retry_after_s);
    owner_.changed();
}

void grpc_stream::cancel() noexcept {
    finished_ = true;
    body_.drop();
    held_.clear();
    waiting_.reset();
    cancel_messages();
}

void grpc_stream::own_deadline_passed(time_point) noexcept {
    refuse({errc::deadline_exceeded, "the deadline that grpc-timeout set has passed"});
}

/// A message that waits for its end, and a stream that could go on for ever, end; what was received is answered first.
void grpc_stream::wind_down() noexcept {
    if (finished_) return;
    held_.clear();
    stopping_ = true;
    if (messages_.empty()) return refuse({errc::unavailable, "the server is stopping"});
    for (auto each = messages_.begin(); each != messages_.end();) {
        grpc_message& m = **each++;
        if (m.pending) m.pending->wind_down();
    }
}

}  // namespace asio_infer::grpc
