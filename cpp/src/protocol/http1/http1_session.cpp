#include "protocol/http1/http1_session.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace asio_infer::http1 {

namespace {

constexpr std::size_t first_read_size = 4 * 1024;  ///< a small request with its header
constexpr std::size_t chunked_read_size = 64 * 1024;
constexpr std::size_t first_chunked_body = 16 * 1024;
constexpr std::size_t max_chunk_line = request_parser::max_chunk_extensions + 64;
/// A body takes at least, and at most, so many bytes of the budget ahead of its arrival; in between as many as it has.
/// A client that declares much and sends nothing holds little.
constexpr std::size_t least_ahead = 64 * 1024;
constexpr std::size_t most_ahead = 1024 * 1024;
constexpr std::size_t smallest_read = 16 * 1024;  ///< with less room in the budget the body waits
/// Answers up to this size take nothing from the budget: errors can always be told.
constexpr std::size_t uncounted_answer = 1024;
/// How long a request waits after the peer has finished before the peer is asked whether it still lives.
constexpr std::chrono::milliseconds probe_delay{100};
/// How long a peer may take to read its last answer while the server stops.
constexpr std::chrono::milliseconds linger_in_drain{500};

/// A line feed that no carriage return precedes.
bool has_bare_line_feed(std::string_view bytes) noexcept {
    for (auto at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1))
        if (at == 0 || bytes[at - 1] != '\r') return true;
    return false;
}

}  // namespace

http1_session::http1_session(const session_context& context, session_host& host, time_point now)
    : context_(context),
      host_(host),
      read_deadline_(later(now, context.bounds.idle_timeout)),
      body_progress_(context.bounds.body_progress_timeout, context.bounds.min_bytes_per_s),
      write_progress_(context.bounds.write_progress_timeout, context.bounds.min_bytes_per_s),
      now_(now) {}

// Reading

std::span<std::byte> http1_session::prepare() {
    abandoned_body_ = {};  // no read is under way
    abandoned_lease_.release();
    if (dead_ || peer_finished_ || awaits_bytes_) return {};
    if (phase_ == phase::body) {
        http1_exchange& x = *exchanges_.back();
        const std::size_t ahead = std::clamp(x.body_size, least_ahead, most_ahead);
        const std::size_t wanted = std::min(x.body.size(), x.body_size + ahead);
        const std::size_t least = std::min(x.body.size(), x.body_size + smallest_read);
        if (x.lease.bytes() > x.body_size || lease_more(wanted, least, now_))
            return x.body.bytes().subspan(x.body_size, x.lease.bytes() - x.body_size);
        if (awaits_bytes_) return {};
    }
    if (phase_ == phase::discard) begin_ = end_ = 0;
    if (phase_ == phase::head && !incoming_open_ && at_request_limit()) return {};
    if (begin_ == end_) {
        begin_ = end_ = 0;
        // What a large header or a chunked body needed is not kept while the connection is idle.
        if (phase_ == phase::head && in_.size() > first_read_size) in_ = std::vector<std::byte>(first_read_size);
    }
    if (in_.empty()) in_.resize(first_read_size);
    if (end_ == in_.size() && begin_ > 0) {
        std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, std::size_t{0});
    }
    if (end_ == in_.size()) in_.resize(2 * in_.size());  // bounded: the parser refuses a header over its limit
    if (phase_ == phase::chunks && in_.size() < chunked_read_size) in_.resize(chunked_read_size);
    return std::span(in_).subspan(end_);
}

void http1_session::received(std::size_t n, time_point now) noexcept {
    now_ = now;
    context_.stats.bytes_received.fetch_add(n, std::memory_order_relaxed);
    if (phase_ == phase::discard) return;
    if (phase_ == phase::body)
        exchanges_.back()->body_size += n;
    else
        end_ += n;
    if (phase_ != phase::head) {
        body_progress_.moved(n, now);
        read_deadline_ = body_progress_.deadline();
    }
    advance(now);
}

/// Takes requests out of what has arrived until more must arrive.
void http1_session::advance(time_point now) {
    try {
        for (bool going_on = true; going_on && !dead_ && !awaits_bytes_;) {
            switch (phase_) {
                case phase::head:
                    going_on = read_head(now);
                    break;
                case phase::body:
                    going_on = read_body(now);
                    break;
                case phase::chunks:
                    going_on = read_chunks(now);
                    break;
                case phase::discard:
                    going_on = false;
                    break;
            }
        }
    } catch (const std::bad_alloc&) {
        refuse({errc::unavailable, "no memory for the request"}, now);
    }
}

http1_exchange& http1_session::incoming() {
    if (!incoming_open_) {
        std::unique_ptr<http1_exchange> x = std::move(spare_);
        if (!x) x = std::make_unique<http1_exchange>(static_cast<exchange_owner&>(*this), context_.budget);
        exchanges_.push_back(std::move(x));
        incoming_open_ = true;
        parser_.emplace(exchanges_.back()->head, static_cast<chunk_sink&>(*this), context_.bounds.max_header_bytes);
    }
    return *exchanges_.back();
}

std::string_view http1_session::unread() const noexcept {
    return {reinterpret_cast<const char*>(in_.data()) + begin_, end_ - begin_};
}

void http1_session::consume(std::size_t n) noexcept {
    begin_ += n;
    searched_ = 0;
}

/// Some clients send an empty line behind a body (RFC 9112, 2.2).
void http1_session::skip_empty_lines() noexcept {
    while (unread().starts_with("\r\n")) consume(2);
}

bool http1_session::read_head(time_point now) {
    if (!incoming_open_) skip_empty_lines();
    if (!incoming_open_ && (begin_ == end_ || unread() == "\r" || at_request_limit())) return false;
    if (!incoming_open_) read_deadline_ = later(now, context_.bounds.header_timeout);
    http1_exchange& x = incoming();
    // Parsing starts again at the last complete line: without a new line's end there is nothing to find.
    const std::string_view bytes = unread();
    const bool over_limit = bytes.size() > context_.bounds.max_header_bytes;
    if (bytes.find('\n', searched_) == std::string_view::npos && !over_limit) {
        searched_ = bytes.size();
        return false;
    }
    std::optional<error> failure;
    consume(parser_->parse(bytes, failure));
    if (failure) {
        refuse(*failure, now);
        return false;
    }
    if (!parser_->is_header_done()) {
        searched_ = end_ - begin_;
        return false;
    }
    const result<framing> checked = check_framing(x.head, context_.bounds);
    if (!checked) {
        refuse(checked.error(), now);
        return false;
    }
    x.body_framing = *checked;
    x.last = !parser_->keep_alive();
    return begin_body(now);
}

bool http1_session::begin_body(time_point now) {
    http1_exchange& x = *exchanges_.back();
    if (x.body_framing.body == framing::kind::none) {
        hand_over(now);
        return true;
    }
    if (const result<void> admitted = context_.handler.admit(x.request); admitted.has_error()) {
        refuse(admitted.error(), now);
        return false;
    }
    const bool chunked = x.body_framing.body == framing::kind::chunked;
    const std::size_t size = chunked ? std::min(first_chunked_body, body_limit()) : x.body_framing.length;
    if (size > body_limit()) {
        refuse({errc::too_large, "the body has " + std::to_string(size) + " bytes; all requests together may hold " +
                                     std::to_string(body_limit())},
               now);
        return false;
    }
    x.lease.set_arriving(true);
    if (!x.lease.resize(std::min(size, least_ahead))) {
        refuse(no_bytes_left(size, now), now);
        return false;
    }
    x.body = unique_buffer(size, context_.handler.tensor_start(x.request, {}));
    x.announce_continue = x.body_framing.expects_continue && begin_ == end_;
    if (x.announce_continue) host_.session_changed();
    body_progress_.start(now);
    read_deadline_ = body_progress_.deadline();
    phase_ = chunked ? phase::chunks : phase::body;
    return true;
}

bool http1_session::read_body(time_point now) {
    http1_exchange& x = *exchanges_.back();
    const std::size_t part = std::min(x.body.size() - x.body_size, end_ - begin_);
    if (part > 0) {
        const std::size_t needed = x.body_size + part;
        if (needed > x.lease.bytes() && !lease_more(needed, needed, now)) return false;
        std::memcpy(x.body.data() + x.body_size, in_.data() + begin_, part);
        x.body_size += part;
        consume(part);
    }
    if (x.body_size < x.body.size()) return false;
    hand_over(now);
    return true;
}

bool http1_session::read_chunks(time_point now) {
    http1_exchange& x = *exchanges_.back();
    if (!make_room_for_chunks(now)) return false;
    std::optional<error> failure;
    consume(parser_->parse(unread(), failure));
    if (chunk_failure_) failure = std::exchange(chunk_failure_, std::nullopt);
    const std::string_view rest = unread();
    if (!failure && !parser_->is_done() && !parser_->in_trailer()) {
        if (has_bare_line_feed(rest)) failure = error{errc::invalid_request, "a chunk's line ends without CR"};
        if (rest.size() > max_chunk_line) failure = error{errc::invalid_request, "a chunk's line is too long"};
    }
    if (failure) {
        refuse(*failure, now);
        return false;
    }
    if (!parser_->is_done()) return false;
    x.body.truncate(x.body_size);
    hand_over(now);
    return true;
}

bool http1_session::on_chunk(std::string_view bytes, std::uint64_t left) {
    http1_exchange& x = *exchanges_.back();
    const std::size_t limit = body_limit();
    if (left > limit - x.body_size) {  // refused before it is read
        chunk_failure_ = {errc::too_large, "the body is over the limit of " + std::to_string(limit) + " bytes"};
        return false;
    }
    std::memcpy(x.body.data() + x.body_size, bytes.data(), bytes.size());
    x.body_size += bytes.size();
    return true;
}

/// Makes the body large enough for the chunks in what is unread; false if the budget has no bytes for that.
bool http1_session::make_room_for_chunks(time_point now) {
    http1_exchange& x = *exchanges_.back();
    const std::size_t needed = std::min(body_limit(), x.body_size + unread().size());
    if (needed <= x.body.size()) return true;
    if (!lease_more(std::min(body_limit(), std::max(needed, 2 * x.body.size())), needed, now)) return false;
    unique_buffer larger(x.lease.bytes(), context_.handler.tensor_start(x.request, {}));
    std::memcpy(larger.data(), x.body.data(), x.body_size);
    x.body = std::move(larger);
    return true;
}

/// Lets the incoming body hold `wanted` bytes of the budget, or at least `least`. Without them the reading waits; if
/// waiting would be in vain the request is refused.
bool http1_session::lease_more(std::size_t wanted, std::size_t least, time_point now) noexcept {
    http1_exchange& x = *exchanges_.back();
    if (x.lease.resize(wanted) || x.lease.resize(least)) return true;
    if (context_.budget.only_arriving()) {
        refuse(no_bytes_left(least - x.lease.bytes(), now), now);
        return false;
    }
    awaits_bytes_ = true;
    read_deadline_ = no_deadline;  // it is not the peer who is slow
    context_.budget.wait(*this, least - x.lease.bytes());
    return false;
}

/// The budget has called.
void http1_session::run() noexcept {
    awaits_bytes_ = false;
    now_ = host_.now();
    if (incoming_open_ && !dead_) {
        body_progress_.start(now_);
        read_deadline_ = body_progress_.deadline();
        advance(now_);
    }
    host_.session_changed();
}

/// Unless the budget has called already: then run() comes.
void http1_session::end_wait_for_bytes() noexcept {
    if (awaits_bytes_ && context_.budget.forget(*this)) awaits_bytes_ = false;
}

error http1_session::no_bytes_left(std::size_t wanted, time_point now) const {
    return {errc::unavailable, "the bytes of the requests in flight are at their limit; try again",
            context_.budget.seconds_until_free(wanted, now)};
}

/// The request is complete: the handler has it now.
void http1_session::hand_over(time_point now) noexcept {
    http1_exchange& x = *exchanges_.back();
    incoming_open_ = false;
    phase_ = phase::head;
    read_deadline_ = no_deadline;  // the next request's time starts with its first byte
    x.lease.set_arriving(false);
    x.request.body = std::move(x.body).share();
    x.arrived = now;
    x.now = http1_exchange::stage::handling;
    if (x.last || draining_) {
        x.last = lingers_ = true;
        stop_reading();
    }
    context_.handler.handle(x);
}

// Refusing and ending

void http1_session::refuse(const error& why, time_point now) noexcept {
    http1_exchange& x = incoming();
    incoming_open_ = false;
    end_wait_for_bytes();
    keep_for_read(x);
    x.last = true;
    x.arrived = now;
    x.now = http1_exchange::stage::handling;
    stop_reading();
    lingers_ = true;
    context_.handler.refuse(why, x);
    x.complete();
}

/// Takes no more requests. What is still expected from a peer that was refused, or has come already, is read and
/// dropped before the connection closes: closing over unread bytes would reset it and could cost the peer the answer.
void http1_session::stop_reading() noexcept {
    phase_ = phase::discard;
    if (begin_ != end_) lingers_ = true;
    begin_ = end_ = 0;
    read_deadline_ = no_deadline;  // set when all is sent
}

/// The body's memory, and its share of the budget, stay until no read can be under way into it: what refuses a request
/// may be the clock.
void http1_session::keep_for_read(http1_exchange& x) noexcept {
    x.lease.set_arriving(false);
    abandoned_body_ = std::exchange(x.body, {});
    abandoned_lease_ = std::move(x.lease);
}

/// Half a request that nobody waits for.
void http1_session::drop_incoming() noexcept {
    if (!incoming_open_) return;
    end_wait_for_bytes();
    keep_for_read(*exchanges_.back());
    exchanges_.pop_back();
    incoming_open_ = false;
    stop_reading();
}

void http1_session::peer_finished(time_point now) noexcept {
    now_ = now;
    peer_finished_ = true;
    drop_incoming();
    if (!exchanges_.empty()) probe_at_ = later(now, probe_delay);
}

/// It may have closed only its sending side, and wait for the answer, or be gone.
void http1_session::ask_whether_peer_lives(time_point now) noexcept {
    probe_at_ = no_deadline;
    if (exchanges_.empty()) return;
    http1_exchange& next = *exchanges_.front();
    if (next.now == http1_exchange::stage::answered) {
        probe_at_ = later(now, probe_delay);  // the answer tells, and is the next one's turn then
    } else if (next.head.version == 11) {     // an older peer does not know interim answers
        next.probe();
        host_.session_changed();
    }
}

void http1_session::peer_gone() noexcept {
    if (std::exchange(dead_, true)) return;
    drop_incoming();
    read_deadline_ = probe_at_ = no_deadline;
    write_progress_.stop();
    std::erase_if(exchanges_, [](const auto& x) { return x->now == http1_exchange::stage::answered; });
    // A cancelled operation may complete inside the call, which takes its exchange off the list.
    for (std::size_t i = 0; i < exchanges_.size();) {
        http1_exchange* const x = exchanges_[i].get();
        if (x->pending) x->pending->cancel();
        if (i < exchanges_.size() && exchanges_[i].get() == x) ++i;
    }
}

void http1_session::retire(time_point now) noexcept {
    draining_ = true;
    if (dead_) return;
    if (incoming_open_) return refuse({errc::unavailable, "the server is stopping"}, now);
    if (phase_ == phase::discard) {
        if (exchanges_.empty()) read_deadline_ = std::min(read_deadline_, later(now, linger_in_drain));
        return;
    }
    if (exchanges_.empty()) return;
    exchanges_.back()->last = lingers_ = true;
    stop_reading();
    host_.session_changed();
}

void http1_session::drain(time_point now) noexcept {
    retire(now);
    if (dead_ || phase_ == phase::discard) return;
    stop_reading();
    host_.session_changed();
}

// Answering

void http1_session::answered(http1_exchange& x) noexcept {
    x.now = http1_exchange::stage::answered;
    x.pending.reset();
    x.request.body = {};
    if (dead_) {
        std::erase_if(exchanges_, [&](const auto& each) { return each.get() == &x; });
        host_.session_changed();
        return;
    }
    const std::size_t wanted = x.response.body_size() > uncounted_answer ? x.response.body_size() : 0;
    if (!x.lease.resize(wanted)) {
        x.lease.release();
        x.response.clear();
        context_.handler.refuse({errc::unavailable, "the bytes of the answers in flight are at their limit; try again",
                                 context_.budget.seconds_until_free(wanted, now_)},
                                x);
    }
    x.lay_out(x.last, context_.bounds.idle_timeout);
    host_.session_changed();
}

bool http1_session::something_to_send() const noexcept {
    if (dead_ || exchanges_.empty()) return false;
    const http1_exchange& next = *exchanges_.front();
    return next.now == http1_exchange::stage::answered || next.announces();
}

std::size_t http1_session::to_send(std::span<std::span<const std::byte>> out) noexcept {
    std::size_t filled = 0;
    if (dead_) return filled;
    for (const auto& x : exchanges_) {
        filled += x->to_send(out.subspan(filled));
        if (x->now != http1_exchange::stage::answered || filled == out.size()) break;
    }
    return filled;
}

void http1_session::sent(std::size_t n, time_point now) noexcept {
    now_ = now;
    context_.stats.bytes_sent.fetch_add(n, std::memory_order_relaxed);
    const bool was_full = at_request_limit();
    const std::size_t moved = n;
    const bool progress = n > 0;
    for (auto x = exchanges_.begin(); x != exchanges_.end() && n > 0; ++x) n = (*x)->sent(n);
    remove_finished();
    if (!something_to_send())
        write_progress_.stop();
    else if (!write_progress_.started())
        write_progress_.start(now);
    else if (progress)
        write_progress_.moved(moved, now);
    if (!progress) return;
    if (exchanges_.empty()) {
        const limits& bounds = context_.bounds;
        const auto linger = draining_ ? std::min(bounds.linger_timeout, linger_in_drain) : bounds.linger_timeout;
        read_deadline_ = later(now, phase_ == phase::discard ? linger : bounds.idle_timeout);
    }
    if (was_full && !at_request_limit()) {
        advance(now);
        if (peer_finished_) drop_incoming();
        host_.session_changed();
    }
}

void http1_session::remove_finished() noexcept {
    while (!exchanges_.empty() && exchanges_.front()->all_sent()) {
        std::unique_ptr<http1_exchange> done = std::move(exchanges_.front());
        exchanges_.pop_front();
        done->reset();
        spare_ = std::move(done);
    }
}

// Time and state

time_point http1_session::deadline() const noexcept {
    return std::min({read_deadline_, something_to_send() ? write_progress_.deadline() : no_deadline, probe_at_});
}

void http1_session::deadline_passed(time_point now) noexcept {
    now_ = now;
    if (now >= write_progress_.deadline() && something_to_send()) return peer_gone();
    if (now >= probe_at_) ask_whether_peer_lives(now);
    if (now < read_deadline_) return;
    if (incoming_open_)
        refuse({errc::request_timeout,
                phase_ == phase::head ? "the request's header came too slowly" : "the request's body came too slowly"},
               now);
    else
        peer_gone();  // idle, or its peer has had its time to read the last answer
}

bool http1_session::send_side_over() const noexcept {
    return !dead_ && exchanges_.empty() && (phase_ == phase::discard || peer_finished_);
}

bool http1_session::over() const noexcept {
    return dead_ || (exchanges_.empty() && (peer_finished_ || (phase_ == phase::discard && !lingers_)));
}

}  // namespace asio_infer::http1
