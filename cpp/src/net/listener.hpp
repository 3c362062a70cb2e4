#pragma once

#include <asio_infer/limits.hpp>
#include <asio_infer/log.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/model_stats.hpp"
#include "net/connection.hpp"

namespace asio_infer {

/// Accepts connections on every address of a host name and hands them on. Lives on one io_context thread; open() may
/// be called before that thread runs.
class listener {
public:
    /// Gives the next connection a home: the io_context that it will live on, and what takes the socket there.
    struct target {
        boost::asio::io_context* context;
        std::function<void(connection::socket_type)> take;  ///< called on any thread
    };

    listener(boost::asio::io_context& context, std::vector<target> targets, const limits& bounds, server_stats& stats,
             log_sink& log);

    /// Binds. Throws asio_infer::exception: invalid_request for a host that has no address, unavailable for a port
    /// in use or not allowed. Returns the port, the same for all addresses.
    std::uint16_t open(const std::string& host, std::uint16_t port);
    /// Whether only this machine can reach what open() has bound.
    bool loopback_only() const;
    /// Starts accepting.
    void start();
    /// Stops accepting and closes the sockets. On the listener's thread.
    void close() noexcept;

private:
    using acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, connection::executor>;

    struct bind_failure {
        boost::asio::ip::tcp::endpoint endpoint;
        boost::system::error_code ec;  ///< none: all are bound
    };

    bind_failure bind_all(const std::vector<boost::asio::ip::tcp::endpoint>& endpoints, std::uint16_t port);
    boost::system::error_code bind_one(const boost::asio::ip::tcp::endpoint& endpoint);
    connection::awaitable<void> accept_from(acceptor& source);
    void accepted(connection::socket_type socket, target& where);
    void report_failure(const boost::system::error_code& ec);

    boost::asio::io_context& context_;
    std::vector<target> targets_;
    std::size_t next_target_ = 0;
    const limits& bounds_;
    server_stats& stats_;
    log_sink& log_;
    std::vector<acceptor> acceptors_;
    time_point last_report_{};  ///< accept failures are logged at most once in some seconds
};

}  // namespace asio_infer
