#pragma once

#include <functional>
#include <memory>

#include "core/alarm.hpp"
#include "runtime/io_thread.hpp"

namespace asio_infer {

/// A thread of its own for alarms, so that they ring on time while network threads are busy. Outlives its alarms'
/// rings: after its end, alarms that are still set never ring.
class timer_thread final : public alarm_factory {
public:
    timer_thread() { thread_.start(); }
    ~timer_thread() override;
    std::unique_ptr<alarm> make_alarm(std::function<void()> on_ring) override;

private:
    io_thread thread_;
};

}  // namespace asio_infer
