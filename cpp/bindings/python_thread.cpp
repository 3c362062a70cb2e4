#include "python_thread.hpp"

#include <asio_infer/error.hpp>
#include <atomic>
#include <utility>

#include "gil.hpp"
#include "loop_batches.hpp"

namespace asio_infer::bindings {

namespace {

// Never freed: threads of the core may post while the process runs its static destructors.
std::atomic<python_thread*> current{new python_thread};

}  // namespace

python_thread& python_thread::get() noexcept { return *current.load(); }

void python_thread::after_fork_in_child() { current.store(new python_thread); }

void python_thread::ensure_started() {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
        throw exception(errc::unavailable, "the Python interpreter is ending");
    }
    if (!thread_.joinable()) {
        thread_ = std::thread([this] { serve(); });
    }
}

void python_thread::post(python_work& work) noexcept {
    const std::lock_guard lock(mutex_);
    work.next_ = nullptr;
    if (last_ != nullptr) {
        last_->next_ = &work;
    } else {
        first_ = &work;
        changed_.notify_one();
    }
    last_ = &work;
}

void python_thread::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_one();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

void python_thread::serve() {
    const PyGILState_STATE entered = PyGILState_Ensure();
    bool more = true;
    while (more) {
        more = without_gil([this] { return wait(); });
        hand_over(take());
    }
    PyGILState_Release(entered);
}

bool python_thread::wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return first_ != nullptr || stopping_; });
    return !stopping_;
}

python_work* python_thread::take() noexcept {
    const std::lock_guard lock(mutex_);
    last_ = nullptr;
    return std::exchange(first_, nullptr);
}

void python_thread::hand_over(python_work* first) noexcept {
    loop_batches loops;
    while (first != nullptr) {
        python_work* const work = std::exchange(first, first->next_);
        work->run(loops);
    }
    loops.flush();
}

}  // namespace asio_infer::bindings
