#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "core/executor.hpp"

namespace asio_infer {

/// Threads for calls that block: model runs, file loading, parsing and printing of large JSON. A thread starts when
/// work finds none idle, up to the capacity, and stays until the pool ends. Tasks start in the order of their posting.
class worker_pool final : public task_executor {
public:
    explicit worker_pool(std::size_t capacity);
    /// Runs what is queued, then joins.
    ~worker_pool() override;

    /// Raises the most threads by `more`: a model adds its instances, each of which may block one.
    void add_capacity(std::size_t more);
    void remove_capacity(std::size_t fewer) noexcept;

    void post(task& work) noexcept override;
    bool here() const noexcept override;

private:
    void run();

    std::mutex mutex_;  ///< guards all below
    std::condition_variable wake_;
    task* first_ = nullptr;
    task* last_ = nullptr;
    std::size_t queued_ = 0;
    std::size_t idle_ = 0;
    std::size_t capacity_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace asio_infer
