#pragma once

#include <asio_infer/infer.hpp>
#include <chrono>
#include <cstdint>

namespace asio_infer::http2 {

/// An allowance that is spent by one and comes back with time. A pure value with the clock passed in.
class allowance {
public:
    constexpr allowance(double most, double per_second) noexcept : most_(most), per_second_(per_second), left_(most) {}
    /// False once it is used up.
    bool spend(time_point now) noexcept {
        if (now > last_) {
            left_ += std::chrono::duration<double>(now - last_).count() * per_second_;
            if (left_ > most_ || last_ == time_point{}) left_ = most_;
            last_ = now;
        }
        if (left_ < 1) return false;
        left_ -= 1;
        return true;
    }

private:
    double most_;
    double per_second_;
    double left_;
    time_point last_{};
};

/// Tells a peer that makes this side work in vain from one that has a bad moment: each kind of frame that costs more
/// than it brings has an allowance. A function returns false when the connection should be ended.
///
/// Sources: CVE-2023-44487 (streams that the client resets), CVE-2025-8671 (streams that the server is made to reset),
/// RFC 9113 10.5 (SETTINGS, PRIORITY and empty DATA in numbers), gRPC's keep-alive rules (PING).
class flood_guard {
public:
    /// The client has reset a stream that was not answered.
    bool client_reset(time_point now) noexcept { return client_resets_.spend(now); }
    /// This side has had to reset a stream, or to ignore a frame, because of what the client sent.
    bool fault(time_point now) noexcept { return faults_.spend(now); }
    /// A frame that only keeps this side busy: SETTINGS, PRIORITY, DATA without data.
    bool idle_frame(time_point now) noexcept { return idle_frames_.spend(now); }
    /// A PING came. From 5 s apart they are always fine, and so are those beside requests and answers.
    bool ping(time_point now) noexcept {
        const bool apart = last_ping_ == time_point{} || now - last_ping_ >= shortest_ping_interval;
        last_ping_ = now;
        if (apart) strikes_ = 0;
        return apart || ++strikes_ <= most_strikes;
    }
    /// A request's or an answer's frame has passed.
    void traffic() noexcept { strikes_ = 0; }

private:
    static constexpr std::chrono::milliseconds shortest_ping_interval{4'900};  ///< 5 s, and what timers are off by
    static constexpr std::uint32_t most_strikes = 10;

    allowance client_resets_{1'000, 33};
    allowance faults_{100, 5};
    allowance idle_frames_{200, 20};
    time_point last_ping_{};
    std::uint32_t strikes_ = 0;
};

}  // namespace asio_infer::http2
