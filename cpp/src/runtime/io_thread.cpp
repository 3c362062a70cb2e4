#include "runtime/io_thread.hpp"

#include <boost/asio/post.hpp>
#include <utility>

namespace asio_infer {

namespace {
thread_local const io_thread* current = nullptr;
}

// The hint 1 says that one thread runs the context: posts from that thread skip the lock and the wake-up.
io_thread::io_thread() : context_(1) {}

io_thread::~io_thread() {
    context_.stop();
    join();
}

void io_thread::start() {
    context_.restart();
    work_.emplace(context_.get_executor());
    thread_ = std::thread([this] {
        current = this;
        context_.run();
        current = nullptr;
    });
}

void io_thread::join() {
    work_.reset();
    if (thread_.joinable()) thread_.join();
}

void io_thread::post(task& work) noexcept {
    work.next_ = nullptr;
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        first = first_ == nullptr;
        (first ? first_ : last_->next_) = &work;
        last_ = &work;
    }
    if (first) boost::asio::post(context_, [this] { run_tasks(); });
}

bool io_thread::here() const noexcept { return current == this; }

void io_thread::run_tasks() noexcept {
    task* next = nullptr;
    {
        const std::lock_guard lock(mutex_);
        next = std::exchange(first_, nullptr);
    }
    // A task may be posted again, or be gone, once its run() has started: its link is read before.
    while (next != nullptr) std::exchange(next, next->next_)->run();
}

}  // namespace asio_infer
