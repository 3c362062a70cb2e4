#include <fcntl.h>

#include "net/close_on_exec.hpp"

namespace asio_infer {

void close_on_exec(boost::asio::ip::tcp::socket::native_handle_type socket) noexcept {
    ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

}  // namespace asio_infer
