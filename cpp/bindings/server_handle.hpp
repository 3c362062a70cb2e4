#pragma once

#include <asio_infer/log.hpp>
#include <asio_infer/server.hpp>
#include <memory>

#include "python.hpp"

namespace asio_infer::bindings {

/// A server as Python holds it. It belongs to the process that made it: in the child of a fork every use throws
/// `unavailable`, and its end leaves the parent's threads and sockets alone.
class server_handle {
public:
    /// With the GIL, which it releases while the server is built.
    server_handle(server_options options, std::shared_ptr<log_sink> log);
    ~server_handle() = default;
    server_handle(const server_handle&) = delete;
    server_handle& operator=(const server_handle&) = delete;

    /// The server, to be used without the GIL wherever it may wait.
    server& get() const;
    /// A share of the server, for calls that hold its models. The last owner, with or without the GIL, stops it
    /// without a drain, and waits without the GIL.
    std::shared_ptr<const void> share() const { return server_; }
    const std::shared_ptr<log_sink>& log() const noexcept { return log_; }

    /// In the child of a fork: servers that exist by now are the parent's.
    static void after_fork_in_child() noexcept;

private:
    std::shared_ptr<log_sink> log_;
    std::shared_ptr<server> server_;
    unsigned generation_;
};

}  // namespace asio_infer::bindings
