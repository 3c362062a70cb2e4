#include "net/connection_group.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <chrono>
#include <utility>

namespace asio_infer {

namespace {
constexpr std::chrono::milliseconds sweep_interval{200};
}

connection_group::connection_group(boost::asio::io_context& context, task_executor& home, server_stats& stats)
    : home_(home), stats_(stats), sweep_timer_(context.get_executor()), context_(context) {}

void connection_group::add(connection::socket_type socket, session_factory& sessions) {
    boost::asio::co_spawn(context_.get_executor(), serve(std::move(socket), sessions), boost::asio::detached);
}

connection::awaitable<void> connection_group::serve(connection::socket_type socket, session_factory& sessions) {
    try {
        connection serving(std::move(socket), home_, sessions, *this);
        sweep();
        open_.push_back(serving);
        if (draining_)
            serving.drain(clock::now());
        else if (retiring_)
            serving.retire(clock::now());
        co_await serving.run();
        open_.erase(open_.iterator_to(serving));
    } catch (const std::bad_alloc&) {
        // No memory for a connection: it is closed.
    }
    removed();
}

void connection_group::removed() {
    stats_.connections_open.fetch_sub(1, std::memory_order_relaxed);
    if (!open_.empty()) return;
    sweep_timer_.cancel();
    if (on_empty_) std::exchange(on_empty_, nullptr)();
}

/// Goes on by itself while there are connections.
void connection_group::sweep() {
    if (std::exchange(sweeping_, true)) return;
    sweep_timer_.expires_after(sweep_interval);
    sweep_timer_.async_wait([this](const boost::system::error_code&) {
        sweeping_ = false;
        const time_point now = clock::now();
        for (connection& each : open_) each.check_deadline(now);
        if (!open_.empty()) sweep();
    });
}

void connection_group::busy_changed(bool busy) noexcept {
    busy ? ++busy_ : --busy_;
    report_quiet();
}

void connection_group::report_quiet() noexcept {
    if (busy_ == 0 && on_quiet_) std::exchange(on_quiet_, nullptr)();
}

void connection_group::retire(std::function<void()> on_quiet) {
    retiring_ = true;
    const time_point now = clock::now();
    for (connection& each : open_) each.retire(now);
    on_quiet_ = std::move(on_quiet);
    report_quiet();
}

void connection_group::drain(std::function<void()> on_empty) {
    draining_ = true;
    on_empty_ = std::move(on_empty);
    const time_point now = clock::now();
    for (connection& each : open_) each.drain(now);
    if (open_.empty() && on_empty_) std::exchange(on_empty_, nullptr)();
}

void connection_group::abort_all() noexcept {
    for (connection& each : open_) each.abort();
}

}  // namespace asio_infer
