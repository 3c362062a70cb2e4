#pragma once

#include <boost/intrusive/list.hpp>
#include <memory>
#include <string_view>
#include <vector>

#include "core/progress_limit.hpp"
#include "core/session.hpp"
#include "protocol/http2/flood_guard.hpp"
#include "protocol/http2/http2_stream.hpp"
#include "protocol/http2/request_head.hpp"
#include "protocol/http2/send_queue.hpp"
#include "protocol/protocol_table.hpp"
#include "protocol/session_context.hpp"

struct nghttp2_session;

namespace asio_infer::http2 {

/// Whether a connection begins with HTTP/2's preface (RFC 9113, 3.4).
claim claims_http2(std::string_view first_bytes) noexcept;

/// HTTP/2 (RFC 9113, 7541) for one connection, framed by nghttp2: REST and gRPC requests side by side, each a stream.
///
/// nghttp2 keeps the protocol's rules. Beyond them this bounds what a client may cost: header sizes, streams, floods
/// (flood_guard), memory (each stream's window), and time.
class http2_session final : public session, private stream_owner, private task {
public:
    http2_session(const session_context& context, session_host& host, time_point now);
    ~http2_session() override;

    std::span<std::byte> prepare() override;
    void received(std::size_t n, time_point now) noexcept override;
    void peer_finished(time_point now) noexcept override;
    void peer_gone() noexcept override;
    std::size_t to_send(std::span<std::span<const std::byte>> out) noexcept override;
    void sent(std::size_t n, time_point now) noexcept override;
    time_point deadline() const noexcept override;
    void deadline_passed(time_point now) noexcept override;
    void retire(time_point now) noexcept override;
    void drain(time_point now) noexcept override;
    bool send_side_over() const noexcept override;
    bool over() const noexcept override;
    bool quiet() const noexcept override { return streams_.empty() && !posted_; }

private:
    friend struct callbacks;

    const session_context& context() const noexcept override { return context_; }
    task_executor& home() noexcept override { return host_.home(); }
    time_point now() const noexcept override { return now_; }
    void grant(const http2_stream& s, std::size_t bytes) noexcept override;
    void send_interim(const http2_stream& s, const field_list& fields) noexcept override;
    void send_header(http2_stream& s, const field_list& fields, bool ends) noexcept override;
    void send_trailer(const http2_stream& s, const field_list& fields) noexcept override;
    void send_more(const http2_stream& s) noexcept override;
    void reset(const http2_stream& s, std::uint32_t code) noexcept override;
    void changed() noexcept override;
    void run() noexcept override;

    // Events of nghttp2. False ends the connection.
    bool begin_stream(std::int32_t id, bool ends);
    bool data_received(http2_stream* s, std::span<const std::byte> bytes);
    void header_begins() noexcept;
    void header_over() noexcept;
    void settings_seen(bool acknowledged) noexcept;
    bool client_reset(const http2_stream* s);
    bool fault() { return guard_.fault(now_) || end_with(NGHTTP2_ENHANCE_YOUR_CALM, "too many faults"); }
    bool idle_frame() { return guard_.idle_frame(now_) || end_with(NGHTTP2_ENHANCE_YOUR_CALM, "too many idle frames"); }
    bool ping() { return guard_.ping(now_) || end_with(NGHTTP2_ENHANCE_YOUR_CALM, "too_many_pings"); }
    void stream_closed(http2_stream& s) noexcept;
    bool end_with(std::uint32_t code, std::string_view why) noexcept;

    void submit_settings();
    void go_away(std::uint32_t code, std::string_view why) noexcept;
    void close_streams() noexcept;
    void remove_unused() noexcept;
    void start_idle(time_point now) noexcept;
    bool all_sent() const noexcept;
    void event_over() noexcept;

    const session_context& context_;
    session_host& host_;
    std::vector<std::byte> in_;
    nghttp2_session* h2_ = nullptr;
    request_head head_;  ///< header blocks are not interleaved (RFC 9113, 4.3)
    using stream_list = boost::intrusive::list<http2_stream, boost::intrusive::base_hook<stream_hook>>;
    stream_list streams_;  ///< owned; closed ones until they are idle
    send_queue output_;
    flood_guard guard_;
    std::size_t uncredited_ = 0;  ///< bytes of bodies that the connection's window has not got back

    time_point now_;            ///< of the last event
    time_point read_deadline_;  ///< while there is no stream, or a header block is half there
    time_point probe_at_ = no_deadline;
    progress_limit write_progress_;
    std::uint32_t end_code_ = 0;
    std::string_view end_reason_;  ///< why this side ends the connection: a literal
    bool in_event_ = false;
    bool posted_ = false;     ///< run() will come
    bool settled_ = false;    ///< the client has acknowledged our settings
    bool in_header_ = false;  ///< of a header block, a part has come
    bool closing_ = false;    ///< no new streams; the connection ends behind the last answer
    bool deaf_ = false;       ///< what comes is dropped
    bool draining_ = false;
    bool peer_finished_ = false;
    bool dead_ = false;
};

}  // namespace asio_infer::http2
