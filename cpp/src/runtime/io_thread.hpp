#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <mutex>
#include <optional>
#include <thread>

#include "core/executor.hpp"

namespace asio_infer {

/// One thread that runs one io_context: connections live on it for life. Tasks that are posted while others wait
/// share one wake-up, so a batch that completes many requests of this thread costs one event.
class io_thread final : public task_executor {
public:
    io_thread();
    ~io_thread() override;  ///< stops and joins

    void start();
    /// Lets the thread end once its context has no more work, and waits for that.
    void join();

    boost::asio::io_context& context() noexcept { return context_; }
    void post(task& work) noexcept override;
    bool here() const noexcept override;

private:
    void run_tasks() noexcept;

    boost::asio::io_context context_;
    std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
    std::thread thread_;
    std::mutex mutex_;  ///< guards the list below
    task* first_ = nullptr;
    task* last_ = nullptr;
};

}  // namespace asio_infer
