#pragma once

#include <asio_infer/infer.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "core/served_model.hpp"

namespace asio_infer::bindings {

/// Waits for one call in the thread that made it. Shared between the two, since the waiting side may give up first.
/// Knows no Python.
class sync_call final : public call_receiver, public std::enable_shared_from_this<sync_call> {
public:
    /// Whom the call reports to while it is under way; keeps this object alive until then.
    call_receiver& expect() noexcept;
    void deliver(infer_call_ptr call) noexcept override;
    /// The finished call, or null if it is not there at `until`.
    infer_call_ptr wait_until(time_point until);

private:
    std::mutex mutex_;
    std::condition_variable delivered_;
    infer_call_ptr call_;
    std::shared_ptr<sync_call> self_;  ///< set while the call is under way
};

}  // namespace asio_infer::bindings
