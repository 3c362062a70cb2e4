#include "sync_call.hpp"

#include <utility>

namespace asio_infer::bindings {

call_receiver& sync_call::expect() noexcept {
    self_ = shared_from_this();
    return *this;
}

void sync_call::deliver(infer_call_ptr call) noexcept {
    const std::shared_ptr<sync_call> self = std::move(self_);
    const std::lock_guard lock(mutex_);
    call_ = std::move(call);
    delivered_.notify_one();
}

infer_call_ptr sync_call::wait_until(time_point until) {
    std::unique_lock lock(mutex_);
    const auto there = [this] { return call_ != nullptr; };
    if (until == no_deadline) {
        delivered_.wait(lock, there);
    } else {
        delivered_.wait_until(lock, until, there);
    }
    return std::move(call_);
}

}  // namespace asio_infer::bindings
