#include "protocol/http2/http2_session.hpp"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "core/later.hpp"
#include "protocol/grpc/grpc_stream.hpp"
#include "protocol/http2/callbacks.hpp"
#include "protocol/http2/rest_stream.hpp"

namespace asio_infer::http2 {

namespace {

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t idle_read_size = 4 * 1024;
constexpr std::size_t busy_read_size = 256 * 1024;
constexpr std::uint32_t max_frame_size = 256 * 1024;
/// Bodies are held back by their streams' windows; the connection's only has to be larger than what can be on its way.
constexpr std::int32_t connection_window = 64 * 1024 * 1024;
constexpr std::size_t credit_step = 8 * 1024 * 1024;
constexpr std::int32_t first_window = 65'535;  ///< RFC 9113, 6.9.2
/// nghttp2 is asked for more when less than this waits for the socket.
constexpr std::size_t most_waiting = 512 * 1024;
constexpr std::chrono::milliseconds probe_delay{100};
/// How long a peer may take to read its last answer while the server stops.
constexpr std::chrono::milliseconds linger_in_drain{500};

class set_while_in_scope {
public:
    explicit set_while_in_scope(bool& flag) noexcept : flag_(flag), before_(std::exchange(flag, true)) {}
    ~set_while_in_scope() { flag_ = before_; }
    set_while_in_scope(const set_while_in_scope&) = delete;
    set_while_in_scope& operator=(const set_while_in_scope&) = delete;

private:
    bool& flag_;
    bool before_;
};

}  // namespace

claim claims_http2(std::string_view first_bytes) noexcept {
    const std::size_t n = std::min(first_bytes.size(), preface.size());
    if (first_bytes.substr(0, n) != preface.substr(0, n)) return claim::no;
    return n == preface.size() ? claim::yes : claim::later;
}

http2_session::http2_session(const session_context& context, session_host& host, time_point now)
    : context_(context),
      host_(host),
      head_(context.bounds.max_header_bytes),
      now_(now),
      read_deadline_(later(now, context.bounds.header_timeout)),
      write_progress_(context.bounds.write_progress_timeout, context.bounds.min_bytes_per_s) {
    h2_ = make_nghttp2_session(*this);
    submit_settings();
}

http2_session::~http2_session() {
    nghttp2_session_del(h2_);
    streams_.clear_and_dispose([](http2_stream* each) { delete each; });
}

void http2_session::submit_settings() {
    const auto capped = [](std::size_t value) {
        return static_cast<std::uint32_t>(std::min<std::size_t>(value, 0x7fff'ffff));
    };
    const std::array<nghttp2_settings_entry, 3> settings{{
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, capped(context_.bounds.max_concurrent_streams)},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, capped(context_.bounds.max_header_bytes)},
        {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, max_frame_size},
    }};
    nghttp2_submit_settings(h2_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    nghttp2_submit_window_update(h2_, NGHTTP2_FLAG_NONE, 0, connection_window - first_window);
}

// Reading

std::span<std::byte> http2_session::prepare() {
    if (dead_ || peer_finished_) return {};
    const std::size_t wanted = streams_.empty() ? idle_read_size : busy_read_size;
    if (in_.size() < wanted || (in_.size() > wanted && streams_.empty())) in_ = std::vector<std::byte>(wanted);
    return in_;
}

void http2_session::received(std::size_t n, time_point now) noexcept {
    now_ = now;
    context_.stats.bytes_received.fetch_add(n, std::memory_order_relaxed);
    if (deaf_) return;
    {
        const set_while_in_scope inside(in_event_);
        const auto used = nghttp2_session_mem_recv(h2_, reinterpret_cast<const std::uint8_t*>(in_.data()), n);
        if (used < 0) {
            const std::uint32_t code = used == NGHTTP2_ERR_FLOODED ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_INTERNAL_ERROR;
            go_away(end_code_ != 0 ? end_code_ : code, end_reason_);
            close_streams();
        }
    }
    if (uncredited_ >= credit_step)
        nghttp2_submit_window_update(h2_, NGHTTP2_FLAG_NONE, 0,
                                     static_cast<std::int32_t>(std::exchange(uncredited_, std::size_t{0})));
    event_over();
}

void http2_session::header_begins() noexcept {
    head_.clear();
    in_header_ = true;
    read_deadline_ = later(now_, context_.bounds.header_timeout);
}

void http2_session::header_over() noexcept {
    in_header_ = false;
    if (streams_.empty())
        start_idle(now_);
    else
        read_deadline_ = no_deadline;
}

/// The first one ends the time that the client had for its preface.
void http2_session::settings_seen(bool acknowledged) noexcept {
    if (acknowledged) settled_ = true;
    if (!in_header_ && streams_.empty()) start_idle(now_);
}

bool http2_session::begin_stream(std::int32_t id, bool ends) {
    in_header_ = false;
    read_deadline_ = no_deadline;
    guard_.traffic();
    http2_stream* made = nullptr;
    if (head_.is_grpc())
        made = new grpc::grpc_stream(*this, id);
    else
        made = new rest_stream(*this, id);
    streams_.push_back(*made);
    nghttp2_session_set_stream_user_data(h2_, id, made);
    try {
        made->start(head_, ends);
    } catch (const std::bad_alloc&) {
        made->out_of_memory();
    }
    return true;
}

bool http2_session::data_received(http2_stream* s, std::span<const std::byte> bytes) {
    uncredited_ += bytes.size();
    guard_.traffic();
    if (s == nullptr) return true;
    try {
        s->data(bytes);
    } catch (const std::bad_alloc&) {
        s->out_of_memory();
    }
    return true;
}

bool http2_session::client_reset(const http2_stream* s) {
    if (s != nullptr && s->output_complete()) return true;
    return guard_.client_reset(now_) || end_with(NGHTTP2_ENHANCE_YOUR_CALM, "too many streams were reset");
}

void http2_session::stream_closed(http2_stream& s) noexcept {
    s.closed();
    changed();
}

/// From inside a callback: nghttp2 reads no further.
bool http2_session::end_with(std::uint32_t code, std::string_view why) noexcept {
    end_code_ = code;
    end_reason_ = why;
    return false;
}

// Ending

/// The last frame of this side: nothing that comes is looked at any more.
void http2_session::go_away(std::uint32_t code, std::string_view why) noexcept {
    if (std::exchange(deaf_, true)) return;
    closing_ = true;
    nghttp2_submit_goaway(h2_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(h2_), code,
                          reinterpret_cast<const std::uint8_t*>(why.data()), why.size());
}

void http2_session::close_streams() noexcept {
    for (auto each = streams_.begin(); each != streams_.end();) {
        http2_stream& s = *each++;
        if (s.is_closed()) continue;
        nghttp2_session_set_stream_user_data(h2_, s.id(), nullptr);
        s.closed();
    }
}

void http2_session::remove_unused() noexcept {
    const bool some = !streams_.empty();
    streams_.remove_and_dispose_if([](const http2_stream& s) { return s.is_closed() && s.idle(); },
                                   [](http2_stream* s) { delete s; });
    if (some && streams_.empty()) start_idle(now_);
}

void http2_session::start_idle(time_point now) noexcept {
    if (!in_header_) read_deadline_ = later(now, context_.bounds.idle_timeout);
}

void http2_session::peer_finished(time_point now) noexcept {
    now_ = now;
    peer_finished_ = closing_ = true;
    for (http2_stream& each : streams_)
        if (!each.request_ended() && !each.is_closed()) reset(each, NGHTTP2_CANCEL);
    if (!streams_.empty()) probe_at_ = later(now, probe_delay);
    event_over();
}

void http2_session::peer_gone() noexcept {
    if (std::exchange(dead_, true)) return;
    const set_while_in_scope inside(in_event_);
    close_streams();
    output_.clear();
    read_deadline_ = probe_at_ = no_deadline;
    write_progress_.stop();
    remove_unused();
}

void http2_session::retire(time_point now) noexcept {
    now_ = now;
    if (dead_ || deaf_ || std::exchange(draining_, true)) return;
    nghttp2_submit_shutdown_notice(h2_);
    {
        const set_while_in_scope inside(in_event_);
        for (auto each = streams_.begin(); each != streams_.end();) {
            http2_stream& s = *each++;
            if (!s.is_closed()) s.wind_down();
        }
    }
    event_over();
}

void http2_session::drain(time_point now) noexcept {
    retire(now);
    if (dead_ || std::exchange(closing_, true)) return;
    nghttp2_submit_goaway(h2_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(h2_), NGHTTP2_NO_ERROR,
                          nullptr, 0);
    event_over();
}

// Answering

void http2_session::grant(const http2_stream& s, std::size_t bytes) noexcept {
    nghttp2_submit_window_update(h2_, NGHTTP2_FLAG_NONE, s.id(), static_cast<std::int32_t>(bytes));
}

void http2_session::send_interim(const http2_stream& s, const field_list& fields) noexcept {
    nghttp2_submit_headers(h2_, NGHTTP2_FLAG_NONE, s.id(), nullptr, fields.data(), fields.size(), nullptr);
}

void http2_session::send_header(http2_stream& s, const field_list& fields, bool ends) noexcept {
    nghttp2_data_provider output = output_of_streams();
    nghttp2_submit_response(h2_, s.id(), fields.data(), fields.size(), ends ? nullptr : &output);
}

void http2_session::send_trailer(const http2_stream& s, const field_list& fields) noexcept {
    nghttp2_submit_trailer(h2_, s.id(), fields.data(), fields.size());
}

void http2_session::send_more(const http2_stream& s) noexcept { nghttp2_session_resume_data(h2_, s.id()); }

void http2_session::reset(const http2_stream& s, std::uint32_t code) noexcept {
    nghttp2_submit_rst_stream(h2_, NGHTTP2_FLAG_NONE, s.id(), code);
    changed();
}

/// Many streams may change in one turn of the loop: they share one write.
void http2_session::changed() noexcept {
    if (in_event_ || std::exchange(posted_, true)) return;
    host_.home().post(*this);
}

void http2_session::run() noexcept {
    posted_ = false;
    now_ = host_.now();
    event_over();
}

void http2_session::event_over() noexcept {
    if (in_event_) return;
    remove_unused();
    host_.session_changed();
}

std::size_t http2_session::to_send(std::span<std::span<const std::byte>> out) noexcept {
    if (dead_) return 0;
    {
        const set_while_in_scope inside(in_event_);
        // nghttp2 ends the connection by itself for a fault that it finds: its GOAWAY is its last frame then.
        bool failed = nghttp2_session_send(h2_) != 0;
        if (end_code_ != 0 && !deaf_) {  // found out while sending
            go_away(end_code_, end_reason_);
            close_streams();
            failed = nghttp2_session_send(h2_) != 0;
        }
        if (failed) {
            dead_ = true;
            close_streams();
            return 0;
        }
        if (nghttp2_session_want_read(h2_) == 0 && nghttp2_session_want_write(h2_) == 0) {
            deaf_ = closing_ = true;
            close_streams();
        }
    }
    remove_unused();
    return output_.to_send(out);
}

void http2_session::sent(std::size_t n, time_point now) noexcept {
    now_ = now;
    context_.stats.bytes_sent.fetch_add(n, std::memory_order_relaxed);
    output_.sent(n);
    if (output_.size() == 0)
        write_progress_.stop();
    else if (!write_progress_.started())
        write_progress_.start(now);
    else if (n > 0)
        write_progress_.moved(n, now);
    if (all_sent() && closing_) {
        const limits& bounds = context_.bounds;
        read_deadline_ =
            later(now, draining_ ? std::min(bounds.linger_timeout, linger_in_drain) : bounds.linger_timeout);
    }
}

// Time and state

bool http2_session::all_sent() const noexcept {
    return streams_.empty() && output_.size() == 0 && nghttp2_session_want_write(h2_) == 0;
}

time_point http2_session::deadline() const noexcept {
    time_point next = std::min({read_deadline_, write_progress_.deadline(), probe_at_});
    for (const http2_stream& each : streams_) next = std::min(next, each.deadline());
    return next;
}

void http2_session::deadline_passed(time_point now) noexcept {
    now_ = now;
    if (now >= write_progress_.deadline()) return peer_gone();
    {
        const set_while_in_scope inside(in_event_);
        for (auto each = streams_.begin(); each != streams_.end();) {
            http2_stream& s = *each++;
            if (now >= s.deadline()) s.deadline_passed(now);
        }
    }
    if (now >= probe_at_) {
        // A peer that has gone answers with a reset.
        probe_at_ = later(now, context_.bounds.idle_timeout);
        nghttp2_submit_ping(h2_, NGHTTP2_FLAG_NONE, nullptr);
    }
    if (now >= read_deadline_) {
        if (closing_) return peer_gone();  // the peer has had its time to read the last answer
        read_deadline_ = no_deadline;
        go_away(NGHTTP2_NO_ERROR, in_header_ ? "the header came too slowly" : "idle");
        close_streams();
    }
    event_over();
}

bool http2_session::send_side_over() const noexcept { return !dead_ && closing_ && all_sent(); }

bool http2_session::over() const noexcept { return dead_ || (closing_ && peer_finished_ && all_sent()); }

}  // namespace asio_infer::http2
