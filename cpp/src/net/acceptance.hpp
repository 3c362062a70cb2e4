#pragma once

#include <asio_infer/limits.hpp>
#include <asio_infer/log.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "core/model_stats.hpp"
#include "net/connection.hpp"

namespace asio_infer {

/// Accepts connections, whatever socket they come by, and gives each a home. Lives on one io_context thread.
class acceptance {
public:
    /// A home for connections: the io_context that they will live on, and what takes the socket there.
    struct target {
        boost::asio::io_context* context;
        /// Called on any thread.
        std::function<void(connection::socket_type, session_factory&)> take;
    };

    acceptance(std::vector<target> targets, const limits& bounds, server_stats& stats, log_sink& log)
        : targets_(std::move(targets)), bounds_(bounds), stats_(stats), log_(log) {}

    /// Accepts until the acceptor is closed. `source` and `sessions` outlive the coroutine.
    template <class Acceptor>
    connection::awaitable<void> from(Acceptor& source, session_factory& sessions) {
        constexpr boost::asio::as_tuple_t<boost::asio::use_awaitable_t<connection::executor>> in_coroutine;
        constexpr std::chrono::milliseconds pause_length{100};  // after a failure such as no free descriptor
        boost::asio::basic_waitable_timer<clock, boost::asio::wait_traits<clock>, connection::executor> pause(
            source.get_executor());
        for (;;) {
            const target& where = targets_[next_target_++ % targets_.size()];
            connection::socket_type socket(where.context->get_executor());
            const auto [ec] = co_await source.async_accept(socket, in_coroutine);
            if (!source.is_open()) co_return;
            if (!ec) {
                accepted(std::move(socket), where, sessions);
                continue;
            }
            report_failure(ec);
            pause.expires_after(pause_length);
            co_await pause.async_wait(in_coroutine);
            if (!source.is_open()) co_return;
        }
    }

private:
    void accepted(connection::socket_type socket, const target& where, session_factory& sessions);
    void report_failure(const boost::system::error_code& ec);

    const std::vector<target> targets_;
    std::size_t next_target_ = 0;
    const limits& bounds_;
    server_stats& stats_;
    log_sink& log_;
    time_point last_report_{};  ///< accept failures are logged at most once in some seconds
};

}  // namespace asio_infer
