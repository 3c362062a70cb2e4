#pragma once

#include <asio_infer/infer.hpp>
#include <functional>
#include <memory>

namespace asio_infer {

/// A timer that may be set from any thread. It rings on a thread of its own kind, which must not be blocked for
/// long. Destroying it from inside its own ring is allowed; a ring may still be under way on another thread
/// afterwards, so what it calls must guard its own lifetime (a weak_ptr).
class alarm {
public:
    virtual ~alarm() = default;
    /// Rings once at `when`, replacing an earlier setting.
    virtual void set(time_point when) noexcept = 0;
};

class alarm_factory {
public:
    virtual ~alarm_factory() = default;
    virtual std::unique_ptr<alarm> make_alarm(std::function<void()> on_ring) = 0;
};

}  // namespace asio_infer
