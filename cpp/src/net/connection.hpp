#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list_hook.hpp>
#include <memory>
#include <utility>

#include "core/session.hpp"

namespace asio_infer {

/// Who counts the connections of a thread that have requests under way.
class busy_observer {
public:
    virtual void busy_changed(bool busy) noexcept = 0;

protected:
    ~busy_observer() = default;
};

/// One connection, over TCP or a Unix-domain socket: the I/O around a protocol session. Lives on one io_context thread,
/// inside the coroutine that runs it; nothing else owns it, and no other thread touches it.
class connection final : private session_host, public boost::intrusive::list_base_hook<> {
public:
    using executor = boost::asio::io_context::executor_type;
    using socket_type = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, executor>;
    template <class T>
    using awaitable = boost::asio::awaitable<T, executor>;

    connection(socket_type socket, task_executor& home, session_factory& sessions, busy_observer& observer);

    /// Serves the connection until it is closed and every request that came by it has been answered or has ended.
    awaitable<void> run();

    /// Lets the session act on the clock.
    void check_deadline(time_point now) noexcept;
    void retire(time_point now) noexcept;
    void drain(time_point now) noexcept;
    /// Closes at once; run() returns when the requests under way have ended.
    void abort() noexcept;

private:
    task_executor& home() noexcept override { return home_; }
    time_point now() const noexcept override { return clock::now(); }
    void session_changed() noexcept override;
    void become(std::unique_ptr<session> next) noexcept override { next_session_ = std::move(next); }
    awaitable<void> read_until_over();
    template <class Call>
    void in_session(Call call);
    void flush() noexcept;
    bool send_some() noexcept;
    void wait_writable();
    void watch_for_reset() noexcept;
    bool was_reset() noexcept;
    void end_sending() noexcept;
    void fail() noexcept;
    void tell_whether_busy() noexcept;

    socket_type socket_;
    task_executor& home_;
    boost::asio::basic_waitable_timer<clock, boost::asio::wait_traits<clock>, executor> changed_;  ///< wakes run()
    std::unique_ptr<session> session_;
    std::unique_ptr<session> next_session_;  ///< takes its place when no call is in it
    busy_observer& observer_;
    bool in_session_ = false;        ///< a call of ours is in the session
    bool wake_when_out_ = false;     ///< the session has changed inside it
    bool waiting_writable_ = false;  ///< the socket's buffer is full; its handler goes on
    bool watching_ = false;          ///< for a reset while nothing is read; its handler tells the session
    bool busy_ = false;              ///< as the observer knows it
    bool send_ended_ = false;
    bool failed_ = false;
};

}  // namespace asio_infer
