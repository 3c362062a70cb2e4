#include "net/acceptance.hpp"

#include <cstdint>
#include <string>

#include "net/close_on_exec.hpp"

namespace asio_infer {

namespace {
constexpr std::chrono::seconds report_interval{5};
}

void acceptance::accepted(connection::socket_type socket, const target& where, session_factory& sessions) {
    stats_.connections_accepted.fetch_add(1, std::memory_order_relaxed);
    if (stats_.connections_open.load(std::memory_order_relaxed) >= static_cast<std::int64_t>(bounds_.max_connections)) {
        stats_.connections_refused.fetch_add(1, std::memory_order_relaxed);
        return;  // closes it
    }
    stats_.connections_open.fetch_add(1, std::memory_order_relaxed);
    close_on_exec(socket.native_handle());
    where.take(std::move(socket), sessions);
}

void acceptance::report_failure(const boost::system::error_code& ec) {
    const time_point now = clock::now();
    if (now - last_report_ < report_interval) return;
    last_report_ = now;
    const std::string reason = ec.message();
    log_.write(log_level::error, "cannot accept connections", {{"reason", reason}});
}

}  // namespace asio_infer
