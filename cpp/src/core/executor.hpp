#pragma once

namespace asio_infer {

/// Work that some executor runs later, without an allocation: the object that is waiting derives from it. It may be
/// posted again once run() has started, not before.
class task {
public:
    virtual void run() noexcept = 0;

protected:
    ~task() = default;

private:
    friend class worker_pool;
    friend class io_thread;
    task* next_ = nullptr;  ///< of the queue that holds it
};

/// A place where tasks run: a network thread or the worker pool.
class task_executor {
public:
    virtual ~task_executor() = default;
    /// Queues the task; never runs it inside the call. Thread-safe. The task must live until its run() starts.
    virtual void post(task& work) noexcept = 0;
    /// Whether the calling thread is (one of) this executor's own.
    virtual bool here() const noexcept = 0;
};

}  // namespace asio_infer
