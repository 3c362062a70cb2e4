#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "net/acceptance.hpp"

namespace asio_infer {

/// Listens on a Unix-domain socket that only this user may connect to (mode 0600). Lives on one io_context thread;
/// open() may be called before that thread runs.
class unix_listener {
public:
    explicit unix_listener(boost::asio::io_context& context) : acceptor_(context.get_executor()) {}
    ~unix_listener() { close(); }
    unix_listener(const unix_listener&) = delete;
    unix_listener& operator=(const unix_listener&) = delete;

    /// Binds. A socket there that nobody listens on any more is replaced. Throws asio_infer::exception:
    /// invalid_request for a path that cannot be one, or where something else is; unavailable for one in use.
    void open(const std::string& path);
    /// Starts accepting. Both outlive the listener's context.
    void start(acceptance& connections, session_factory& sessions);
    /// Stops accepting and removes the socket, if the one at its path is still this one.
    void close() noexcept;

private:
    using protocol = boost::asio::local::stream_protocol;

    boost::asio::basic_socket_acceptor<protocol, connection::executor> acceptor_;
    std::string path_;
    std::optional<std::uint64_t> identity_;  ///< of the file that open() has made
};

}  // namespace asio_infer
