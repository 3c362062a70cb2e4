#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "net/acceptance.hpp"

namespace asio_infer {

/// Listens on every address of a host name. Lives on one io_context thread; open() may be called before that thread
/// runs.
class listener {
public:
    explicit listener(boost::asio::io_context& context) : context_(context) {}

    /// Binds. Throws asio_infer::exception: invalid_request for a host that has no address, unavailable for a port
    /// in use or not allowed. Returns the port, the same for all addresses.
    std::uint16_t open(const std::string& host, std::uint16_t port);
    /// Whether only this machine can reach what open() has bound.
    bool loopback_only() const;
    /// Starts accepting. Both outlive the listener's context.
    void start(acceptance& connections, session_factory& sessions);
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

    boost::asio::io_context& context_;
    std::vector<acceptor> acceptors_;
};

}  // namespace asio_infer
