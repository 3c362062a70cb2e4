#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "python.hpp"

namespace asio_infer::bindings {

class loop_batches;

/// Something that a C++ thread has for Python. Between post and run() it belongs to the Python thread.
class python_work {
public:
    /// On the Python thread, with the GIL. The object belongs to itself again: it ends or keeps itself.
    virtual void run(loop_batches& loops) noexcept = 0;

protected:
    ~python_work() = default;

private:
    friend class python_thread;
    python_work* next_ = nullptr;
};

/// The one thread that carries results and log records from C++ threads into Python: they never take the GIL, and it
/// takes it once for all that waits. Work that is posted once the interpreter ends is dropped: its Python objects
/// are left as they are.
class python_thread {
public:
    /// The process's own; it is never destroyed. After a fork the child has a new one.
    static python_thread& get() noexcept;
    /// In the child of a fork: forgets the parent's thread, its queue and its locks.
    static void after_fork_in_child();

    /// Starts the thread unless it runs. Throws `unavailable` once stop() was called. With the GIL.
    void ensure_started();
    /// Any thread, with or without the GIL; never blocks on Python.
    void post(python_work& work) noexcept;
    /// Hands over what waits and ends the thread, for good. Repeatable. Without the GIL.
    void stop();

private:
    void serve();
    /// Waits for work or the end; true for work.
    bool wait();
    python_work* take() noexcept;
    static void hand_over(python_work* first) noexcept;

    std::mutex mutex_;
    std::condition_variable changed_;
    python_work* first_ = nullptr;
    python_work* last_ = nullptr;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace asio_infer::bindings
