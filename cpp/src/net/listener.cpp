#include "net/listener.hpp"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <utility>

#include "net/close_on_exec.hpp"

namespace asio_infer {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

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

void listener::start(acceptance& connections, session_factory& sessions) {
    for (acceptor& each : acceptors_)
        asio::co_spawn(context_.get_executor(), connections.from(each, sessions), asio::detached);
}

void listener::close() noexcept {
    error_code ignored;
    for (acceptor& each : acceptors_) each.close(ignored);
}

}  // namespace asio_infer
