#pragma once

#include <algorithm>
#include <asio_infer/limits.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/byte_budget.hpp"
#include "core/exchange.hpp"
#include "core/progress_limit.hpp"
#include "core/session.hpp"
#include "protocol/http1/http1_exchange.hpp"
#include "protocol/http1/request_parser.hpp"
#include "protocol/session_context.hpp"

namespace asio_infer::http1 {

/// HTTP/1.0 and 1.1 (RFC 9110, 9112) for one connection. Requests are read ahead up to a limit and handled side by
/// side, so that pipelined inferences share batches; answers leave in the order of the requests. A request that is
/// refused ends the connection: what follows is read and dropped, never taken for a request.
///
/// A body takes its bytes from the budget as it arrives. While there are none the session asks for nothing to be read;
/// it goes on when the budget calls.
class http1_session final : public session,
                            private exchange_owner,
                            private chunk_sink,
                            private byte_budget::waiter,
                            private task {
public:
    http1_session(const session_context& context, session_host& host, time_point now);
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
    bool quiet() const noexcept override { return exchanges_.empty() && !awaits_bytes_; }

private:
    enum class phase {
        head,     ///< between requests or inside a header
        body,     ///< inside a body with a length
        chunks,   ///< inside a chunked body
        discard,  ///< no more requests are taken; what comes is dropped
    };

    task_executor& home() noexcept override { return host_.home(); }
    void answered(http1_exchange& x) noexcept override;
    bool on_chunk(std::string_view bytes, std::uint64_t left) override;
    void room_made() noexcept override { host_.home().post(*this); }
    void run() noexcept override;

    void advance(time_point now);
    void skip_empty_lines() noexcept;
    bool read_head(time_point now);
    bool begin_body(time_point now);
    bool read_body(time_point now);
    bool read_chunks(time_point now);
    bool make_room_for_chunks(time_point now);
    bool lease_more(std::size_t wanted, std::size_t least, time_point now) noexcept;
    void end_wait_for_bytes() noexcept;
    error no_bytes_left(std::size_t wanted, time_point now) const;
    void hand_over(time_point now) noexcept;
    void refuse(const error& why, time_point now) noexcept;
    void stop_reading() noexcept;
    void ask_whether_peer_lives(time_point now) noexcept;
    void drop_incoming() noexcept;
    void keep_for_read(http1_exchange& x) noexcept;
    void remove_finished() noexcept;
    http1_exchange& incoming();
    std::string_view unread() const noexcept;
    void consume(std::size_t n) noexcept;
    bool at_request_limit() const noexcept { return exchanges_.size() >= context_.bounds.max_pipelined_requests; }
    bool something_to_send() const noexcept;
    /// Of one request: a body that all of the budget could not hold would wait for ever.
    std::size_t body_limit() const noexcept {
        return std::min(context_.bounds.max_body_bytes, context_.budget.limit());
    }

    const session_context& context_;
    session_host& host_;

    std::vector<std::byte> in_;  ///< received and not yet parsed: [begin_, end_)
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::size_t searched_ = 0;  ///< of the unread bytes, how many the parser has seen without finding a line's end

    unique_buffer abandoned_body_;  ///< of a request that was given up: a read into it may still be under way
    byte_lease abandoned_lease_;

    phase phase_ = phase::head;
    std::optional<request_parser> parser_;
    std::optional<error> chunk_failure_;
    bool incoming_open_ = false;                             ///< the last exchange is still being received
    std::deque<std::unique_ptr<http1_exchange>> exchanges_;  ///< unanswered, oldest first
    std::unique_ptr<http1_exchange> spare_;

    bool dead_ = false;
    bool peer_finished_ = false;
    bool draining_ = false;
    bool lingers_ = false;       ///< read on after the last answer until the peer closes
    bool awaits_bytes_ = false;  ///< the budget, or a task that it has posted, will call
    time_point read_deadline_;   ///< of the phase that the reading is in
    progress_limit body_progress_;
    progress_limit write_progress_;
    time_point probe_at_ = no_deadline;  ///< when a peer that has finished is asked whether it still waits
    time_point now_{};                   ///< of the last event, for answers that come between events
};

}  // namespace asio_infer::http1
