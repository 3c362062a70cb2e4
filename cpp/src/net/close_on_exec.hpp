#pragma once

#include <boost/asio/ip/tcp.hpp>

namespace asio_infer {

/// Keeps a socket from programs that this process starts, which would hold a port or a connection open with it. On
/// Windows sockets are kept from them by default.
void close_on_exec(boost::asio::ip::tcp::socket::native_handle_type socket) noexcept;

}  // namespace asio_infer
