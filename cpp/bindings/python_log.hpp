#pragma once

#include <asio_infer/log.hpp>
#include <atomic>
#include <cstdint>
#include <memory>

namespace asio_infer::bindings {

/// Sends log records to Python's `logging`, by way of the Python thread. The calling threads neither block nor take
/// the GIL. At most `max_waiting` records wait; further ones are dropped and counted in a record of their own.
class python_log final : public log_sink {
public:
    explicit python_log(log_level lowest) : lowest_(lowest), waiting_(std::make_shared<counters>()) {}

    bool enabled(log_level level) const noexcept override { return level >= lowest_; }
    void write(log_level level, std::string_view message, std::initializer_list<log_field> fields) noexcept override;

    std::uint64_t dropped() const noexcept override { return waiting_->dropped.load(std::memory_order_relaxed); }

    /// Shared with the records that wait, which may outlive the sink.
    struct counters {
        std::atomic<std::uint32_t> waiting{0};
        std::atomic<std::uint64_t> dropped{0};
        std::uint64_t reported = 0;  ///< of `dropped`; used on the Python thread only
    };

private:
    static constexpr std::uint32_t max_waiting = 8192;

    const log_level lowest_;
    std::shared_ptr<counters> waiting_;
};

}  // namespace asio_infer::bindings
