#include "server_handle.hpp"

#include <asio_infer/error.hpp>
#include <atomic>
#include <chrono>
#include <new>
#include <utility>

#include "gil.hpp"

namespace asio_infer::bindings {

namespace {

/// How many forks lie between this process and the one that imported the module.
std::atomic<unsigned> fork_generation{0};

}  // namespace

void server_handle::after_fork_in_child() noexcept { fork_generation.fetch_add(1); }

bool server_handle::inherited() const noexcept { return generation_ != fork_generation.load(); }

server_handle::server_handle(server_options options, std::shared_ptr<log_sink> log)
    : log_(std::move(log)), generation_(fork_generation.load()) {
    server_ = without_gil([&] { return std::make_unique<server>(std::move(options), log_); });
}

server_handle::~server_handle() {
    if (inherited()) {
        server_.release();                               // its threads are the parent's: there is nothing to join
        new std::shared_ptr<log_sink>(std::move(log_));  // nor here
        return;
    }
    const auto end = [this] {
        server_->stop(std::chrono::milliseconds(0));
        server_.reset();
        log_.reset();
    };
    if (python_is_ending()) {
        end();  // its threads are done with Python: the package's exit hook has stopped it
    } else {
        without_gil(end);
    }
}

server& server_handle::get() const {
    if (inherited()) {
        throw exception(errc::unavailable,
                        "this server belongs to the parent process: make a new Server after the fork, or start "
                        "processes by multiprocessing's 'spawn' method");
    }
    return *server_;
}

}  // namespace asio_infer::bindings
