#pragma once

#include <functional>
#include <memory>

#include "core/alarm.hpp"
#include "runtime/io_thread.hpp"

namespace asio_infer {

/// A thread of its own for alarms, so that they ring on time while network threads are busy. Outlives its alarms.
class timer_thread final : public alarm_factory {
public:
    timer_thread() { thread_.start(); }
    ~timer_thread() override { stop(); }
    /// Waits for a ring that is under way; from then on no alarm rings. Alarms may still be set and destroyed.
    void stop();
    std::unique_ptr<alarm> make_alarm(std::function<void()> on_ring) override;

private:
    io_thread thread_;
};

}  // namespace asio_infer
