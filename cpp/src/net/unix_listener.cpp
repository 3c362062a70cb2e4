#include "net/unix_listener.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "net/close_on_exec.hpp"
#include "net/unix_path.hpp"

namespace asio_infer {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// Whether somebody listens at the path.
bool answers(const asio::any_io_executor& executor, const asio::local::stream_protocol::endpoint& endpoint) {
    asio::local::stream_protocol::socket probe(executor);
    error_code ec;
    probe.connect(endpoint, ec);
    return !ec;
}

}  // namespace

void unix_listener::open(const std::string& path) {
    check_unix_path(path);
    const protocol::endpoint endpoint(path);
    if (is_unix_socket(path)) {
        if (answers(acceptor_.get_executor(), endpoint))
            throw exception(errc::unavailable,
                            "the Unix socket '" + path + "' is in use; stop the other server, or choose another path");
        remove_unix_socket(path);
    }
    error_code ec;
    acceptor_.open(protocol(), ec);
    if (!ec) close_on_exec(acceptor_.native_handle());
    if (!ec) acceptor_.bind(endpoint, ec);
    if (!ec) {
        path_ = path;
        identity_ = file_identity(path);
        restrict_to_user(path);  // nobody can connect before listen()
        acceptor_.listen(asio::socket_base::max_listen_connections, ec);
    }
    if (!ec) return;
    close();
    throw exception(errc::unavailable, "cannot listen on the Unix socket '" + path + "': " + ec.message());
}

void unix_listener::start(acceptance& connections, session_factory& sessions) {
    if (acceptor_.is_open())
        asio::co_spawn(acceptor_.get_executor(), connections.from(acceptor_, sessions), asio::detached);
}

void unix_listener::close() noexcept {
    error_code ignored;
    acceptor_.close(ignored);
    if (const auto mine = std::exchange(identity_, std::nullopt); mine && file_identity(path_) == mine)
        remove_unix_socket(path_);
}

}  // namespace asio_infer
