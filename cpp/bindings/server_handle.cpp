#include "server_handle.hpp"

#include <asio_infer/error.hpp>
#include <atomic>
#include <chrono>
#include <utility>

#include "exit_gate.hpp"
#include "gil.hpp"

namespace asio_infer::bindings {

namespace {

/// How many forks lie between this process and the one that imported the module.
std::atomic<unsigned> fork_generation{0};

/// How a server ends, whichever thread has it last.
struct server_end {
    unsigned generation;

    void operator()(server* ended) const {
        if (generation != fork_generation.load()) {
            return;  // its threads are the parent's: there is nothing that could be joined
        }
        const auto end = [ended] {
            ended->stop(std::chrono::milliseconds(0));
            delete ended;
        };
        // At the very end the GIL stays: the package's exit hook has stopped the threads by then.
        if (!python_is_ending() && PyGILState_Check() != 0) {
            without_gil(end);
        } else {
            end();
        }
    }
};

}  // namespace

void server_handle::after_fork_in_child() noexcept { fork_generation.fetch_add(1); }

server_handle::server_handle(server_options options, std::shared_ptr<log_sink> log)
    : log_(std::move(log)), generation_(fork_generation.load()) {
    auto made = without_gil([&] { return std::make_unique<server>(std::move(options), log_); });
    server_ = {made.release(), server_end{generation_}};
}

server& server_handle::get() const {
    if (generation_ != fork_generation.load()) {
        throw exception(errc::unavailable,
                        "this server belongs to the parent process: make a new Server after the fork, or start "
                        "processes by multiprocessing's 'spawn' method");
    }
    return *server_;
}

}  // namespace asio_infer::bindings
