#include "net/close_on_exec.hpp"

namespace asio_infer {

void close_on_exec(boost::asio::ip::tcp::socket::native_handle_type) noexcept {}

}  // namespace asio_infer
