#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <functional>

#include "core/model_stats.hpp"
#include "core/session.hpp"
#include "net/connection.hpp"

namespace asio_infer {

/// The connections of one io_context thread: looks at their deadlines a few times a second (no timer and no system
/// call for each request) and drains them together. All members on that thread.
class connection_group final : private busy_observer {
public:
    connection_group(boost::asio::io_context& context, task_executor& home, server_stats& stats);

    /// `sessions` outlives the group.
    void add(connection::socket_type socket, session_factory& sessions);
    /// Every connection answers what it has received, and one request at the most after that. `on_quiet` is called
    /// once, when no request is under way.
    void retire(std::function<void()> on_quiet);
    /// Every connection answers what it has received and closes. `on_empty` is called once, when the last has ended.
    void drain(std::function<void()> on_empty);
    void abort_all() noexcept;

private:
    connection::awaitable<void> serve(connection::socket_type socket, session_factory& sessions);
    void sweep();
    void removed();
    void busy_changed(bool busy) noexcept override;
    void report_quiet() noexcept;

    task_executor& home_;
    server_stats& stats_;
    boost::asio::basic_waitable_timer<clock, boost::asio::wait_traits<clock>, connection::executor> sweep_timer_;
    boost::asio::io_context& context_;
    boost::intrusive::list<connection> open_;
    bool sweeping_ = false;
    bool retiring_ = false;
    bool draining_ = false;
    std::size_t busy_ = 0;  ///< connections with requests under way
    std::function<void()> on_quiet_;
    std::function<void()> on_empty_;
};

}  // namespace asio_infer
