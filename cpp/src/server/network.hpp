#pragma once

#include <asio_infer/limits.hpp>
#include <asio_infer/log.hpp>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/model_stats.hpp"
#include "core/session.hpp"
#include "net/acceptance.hpp"
#include "net/connection_group.hpp"
#include "net/listener.hpp"
#include "net/unix_listener.hpp"
#include "runtime/io_thread.hpp"

namespace asio_infer {

/// The network of a running server: its threads, their connections and the listener. Made when the server starts, gone
/// when it has stopped.
class network {
public:
    network(unsigned threads, const limits& bounds, server_stats& stats, log_sink& log);
    /// Precondition: not started, or drained: requests that are under way refer to their connections.
    ~network();

    /// Binds; throws as listener::open does. Nothing is accepted before start().
    std::uint16_t open(const std::string& host, std::uint16_t port) { return listener_.open(host, port); }
    /// As unix_listener::open.
    void open_unix(const std::string& path) { unix_listener_.open(path); }
    bool loopback_only() const { return listener_.loopback_only(); }
    /// `sessions` for the connections to the port, `local` for those to the Unix-domain socket.
    void start(session_factory& sessions, session_factory& local);

    /// Stops accepting; connections answer what they have received, and one more request each. Once. Returns at once.
    void retire();
    /// Waits, until `until` at the longest, for no request to have been under way since retire(); whether that was so.
    bool wait_quiet(time_point until);
    /// Connections answer what they have received and close. Once, after retire(). Returns at once.
    void drain();
    /// Waits, until `until` at the longest, for all connections to have ended after drain(); whether they have.
    bool wait_drained(time_point until);
    /// Closes what is still open, without a word.
    void abort_connections();

private:
    struct member {
        explicit member(server_stats& stats) : group(thread.context(), thread, stats) {}
        io_thread thread;
        connection_group group;  ///< on `thread`
    };

    std::vector<acceptance::target> targets();
    void count(std::size_t& counter);
    bool wait_for_all(const std::size_t& counter, time_point until);

    std::vector<std::unique_ptr<member>> members_;
    // On the first member's thread:
    acceptance acceptance_;
    listener listener_;
    unix_listener unix_listener_;

    std::mutex mutex_;  ///< guards the counters
    std::condition_variable changed_;
    std::size_t quiet_ = 0;    ///< members whose connections had no request
    std::size_t drained_ = 0;  ///< members without a connection
};

}  // namespace asio_infer
