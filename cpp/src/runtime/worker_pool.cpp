#include "runtime/worker_pool.hpp"

#include <system_error>
#include <utility>

namespace asio_infer {

namespace {
thread_local const worker_pool* current = nullptr;
}

worker_pool::worker_pool(std::size_t capacity) : capacity_(capacity) {}

worker_pool::~worker_pool() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    // Only possible if no thread could ever be started.
    while (first_ != nullptr) std::exchange(first_, first_->next_)->run();
}

void worker_pool::add_capacity(std::size_t more) {
    const std::lock_guard lock(mutex_);
    capacity_ += more;
}

void worker_pool::remove_capacity(std::size_t fewer) noexcept {
    const std::lock_guard lock(mutex_);
    capacity_ -= fewer;
}

void worker_pool::post(task& work) noexcept {
    work.next_ = nullptr;
    {
        const std::lock_guard lock(mutex_);
        (first_ == nullptr ? first_ : last_->next_) = &work;
        last_ = &work;
        ++queued_;
        if (queued_ > idle_ && threads_.size() < capacity_ && !stopping_) {
            try {
                threads_.emplace_back([this] { run(); });
            } catch (const std::exception&) {
                // No thread or no memory now: the threads that there are will come to it.
            }
        }
        // Inside the lock: a pool that ends as soon as the task has run must not be reached any more.
        wake_.notify_one();
    }
}

bool worker_pool::here() const noexcept { return current == this; }

void worker_pool::run() {
    current = this;
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        wake_.wait(lock, [this] { return first_ != nullptr || stopping_; });
        --idle_;
        if (first_ == nullptr) return;
        task& work = *std::exchange(first_, first_->next_);
        --queued_;
        lock.unlock();
        work.run();
        lock.lock();
    }
}

}  // namespace asio_infer
