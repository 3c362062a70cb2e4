#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

#include "core/byte_budget.hpp"
#include "core/exchange.hpp"
#include "protocol/http1/framing_guard.hpp"
#include "protocol/http1/request_head.hpp"

namespace asio_infer::http1 {

class http1_exchange;

/// Who owns the exchanges of a connection.
class exchange_owner {
public:
    virtual task_executor& home() noexcept = 0;
    virtual void answered(http1_exchange& x) noexcept = 0;

protected:
    ~exchange_owner() = default;
};

/// One request of an HTTP/1 connection while it is received, handled and answered. Reused for later requests.
class http1_exchange final : public exchange {
public:
    enum class stage { receiving, handling, answered };

    http1_exchange(exchange_owner& owner, byte_budget& budget) : lease(budget), owner_(owner) {
        head.request = &request;
    }

    task_executor& home() noexcept override { return owner_.home(); }
    void complete() noexcept override { owner_.answered(*this); }

    /// Ready for the next request.
    void reset() noexcept;

    /// Lays the answer out for sending: status line and headers, small bodies behind them in one piece.
    /// `idle_timeout`: how long the connection may be idle behind it, which the client is told.
    void lay_out(bool last_on_connection, std::chrono::milliseconds idle_timeout);
    /// Bytes that are still to be sent, in order; returns the number of entries filled.
    std::size_t to_send(std::span<std::span<const std::byte>> out) const noexcept;
    /// Takes what was sent of this exchange off `n`, and returns the rest of it.
    std::size_t sent(std::size_t n) noexcept;
    /// "100 Continue" is to be sent: one that has begun is finished, one that comes too late is not made.
    bool announces() const noexcept {
        return announce_continue &&
               (now == stage::receiving || continue_sent_ > 0 || (probes_ && now == stage::handling));
    }
    /// Sends an interim answer that says nothing: a peer that has gone meets it with a reset. Clients skip it.
    void probe() noexcept { announce_continue = probes_ = true; }
    bool all_sent() const noexcept { return now == stage::answered && sent_ == total_; }

    stage now = stage::receiving;
    request_head head;
    framing body_framing;
    unique_buffer body;              ///< receives the request's body
    std::size_t body_size = 0;       ///< how much of it is there
    byte_lease lease;                ///< for the body, then for the answer
    bool last = false;               ///< the connection ends behind this answer
    bool announce_continue = false;  ///< "100 Continue" is to be sent when this exchange is the next to be answered

private:
    void add_headers(bool last_on_connection, std::chrono::milliseconds idle_timeout);
    bool has_body() const noexcept { return request.method != verb::head && response.status != 204; }

    exchange_owner& owner_;
    std::string start_;      ///< status line, headers and, when merged, the body
    bool merged_ = false;    ///< the body is inside start_
    std::size_t total_ = 0;  ///< bytes of the whole answer
    std::size_t sent_ = 0;   ///< of these, sent
    std::size_t continue_sent_ = 0;
    bool probes_ = false;
};

}  // namespace asio_infer::http1
