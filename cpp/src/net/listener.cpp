#include "net/listener.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "net/close_on_exec.hpp"

namespace asio_infer {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr asio::as_tuple_t<asio::use_awaitable_t<connection::executor>> in_coroutine;
constexpr std::chrono::milliseconds accept_pause{100};  ///< after a failure such as no free descriptor
constexpr std::chrono::seconds report_interval{5};

std::vector<tcp::endpoint> resolve(asio::io_context& context, const std::string& host, std::uint16_t port) {
    if (host.empty()) return {tcp::endpoint(tcp::v6(), port), tcp::endpoint(tcp::v4(), port)};
    error_code ec;
    std::vector<tcp::endpoint> found;
    for (const auto& entry : tcp::resolver(context).resolve(host, std::to_string(port), tcp::resolver::passive, ec))
        if (std::find(found.begin(), found.end(), entry.endpoint()) == found.end()) found.push_back(entry.endpoint());
    if (ec || found.empty())
        throw exception(errc::invalid_request, "host '" + host + "' has no address: " + ec.message());
    return found;
}

/// A name may have an address of a family that this machine lacks; the others are enough then.
bool lacks_address(const error_code& ec) noexcept {
    return ec == asio::error::address_family_not_supported || ec == boost::system::errc::address_not_available;
}

[[noreturn]] void throw_bind_failure(const tcp::endpoint& endpoint, const error_code& ec) {
    const std::string where =
        (endpoint.address().is_v6() ? "[" + endpoint.address().to_string() + "]" : endpoint.address().to_string()) +
        ":" + std::to_string(endpoint.port());
    if (ec == asio::error::address_in_use)
        throw exception(errc::unavailable, "port " + std::to_string(endpoint.port()) + " is in use (" + where +
                                               "); stop the other server, or choose another port (0 for any free one)");
    throw exception(errc::unavailable, "cannot listen on " + where + ": " + ec.message());
}

}  // namespace

listener::listener(asio::io_context& context, std::vector<target> targets, const limits& bounds, server_stats& stats,
                   log_sink& log)
    : context_(context), targets_(std::move(targets)), bounds_(bounds), stats_(stats), log_(log) {}

std::uint16_t listener::open(const std::string& host, std::uint16_t port) {
    const std::vector<tcp::endpoint> endpoints = resolve(context_, host, port);
    // A port that is free on the first address may be in use on the next.
    int attempts = port == 0 && endpoints.size() > 1 ? 16 : 1;
    for (;;) {
        --attempts;
        const bind_failure failed = bind_all(endpoints, port);
        if (!failed.ec) return acceptors_.back().local_endpoint().port();
        if (failed.ec != asio::error::address_in_use || attempts == 0) throw_bind_failure(failed.endpoint, failed.ec);
    }
}

listener::bind_failure listener::bind_all(const std::vector<tcp::endpoint>& endpoints, std::uint16_t port) {
    acceptors_.clear();
    acceptors_.reserve(endpoints.size());
    bind_failure missing;
    for (tcp::endpoint each : endpoints) {
        each.port(port);
        const error_code ec = bind_one(each);
        if (lacks_address(ec))
            missing = {each, ec};
        else if (ec)
            return {each, ec};
        else
            port = acceptors_.back().local_endpoint().port();
    }
    return acceptors_.empty() ? missing : bind_failure{};
}

error_code listener::bind_one(const tcp::endpoint& endpoint) {
    acceptor made(context_.get_executor());
    error_code ec;
    made.open(endpoint.protocol(), ec);
    if (!ec) close_on_exec(made.native_handle());
    if (!ec && endpoint.address().is_v6()) made.set_option(asio::ip::v6_only(true), ec);
#ifndef _WIN32  // there the option would let a second server take the port
    if (!ec) made.set_option(tcp::acceptor::reuse_address(true), ec);
#endif
    if (!ec) made.bind(endpoint, ec);
    if (!ec) made.listen(asio::socket_base::max_listen_connections, ec);
    if (!ec) acceptors_.push_back(std::move(made));
    return ec;
}

bool listener::loopback_only() const {
    return std::all_of(acceptors_.begin(), acceptors_.end(),
                       [](const acceptor& each) { return each.local_endpoint().address().is_loopback(); });
}

void listener::start() {
    for (acceptor& each : acceptors_) asio::co_spawn(context_.get_executor(), accept_from(each), asio::detached);
}

void listener::close() noexcept {
    error_code ignored;
    for (acceptor& each : acceptors_) each.close(ignored);
}

connection::awaitable<void> listener::accept_from(acceptor& source) {
    asio::basic_waitable_timer<clock, asio::wait_traits<clock>, connection::executor> pause(context_.get_executor());
    for (;;) {
        target& where = targets_[next_target_++ % targets_.size()];
        connection::socket_type socket(where.context->get_executor());
        const auto [ec] = co_await source.async_accept(socket, in_coroutine);
        if (!source.is_open()) co_return;
        if (!ec) {
            accepted(std::move(socket), where);
            continue;
        }
        report_failure(ec);
        pause.expires_after(accept_pause);
        co_await pause.async_wait(in_coroutine);
        if (!source.is_open()) co_return;
    }
}

void listener::accepted(connection::socket_type socket, target& where) {
    stats_.connections_accepted.fetch_add(1, std::memory_order_relaxed);
    if (stats_.connections_open.load(std::memory_order_relaxed) >= static_cast<std::int64_t>(bounds_.max_connections)) {
        stats_.connections_refused.fetch_add(1, std::memory_order_relaxed);
        return;  // closes it
    }
    stats_.connections_open.fetch_add(1, std::memory_order_relaxed);
    close_on_exec(socket.native_handle());
    where.take(std::move(socket));
}

void listener::report_failure(const error_code& ec) {
    const time_point now = clock::now();
    if (now - last_report_ < report_interval) return;
    last_report_ = now;
    const std::string reason = ec.message();
    log_.write(log_level::error, "cannot accept connections", {{"reason", reason}});
}

}  // namespace asio_infer
