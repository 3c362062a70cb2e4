#pragma once

#include <asio_infer/infer.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>

namespace asio_infer {

/// How fast something has drained lately (requests of a queue, bytes of a budget), for an honest Retry-After. What is
/// older fades with a time constant of some seconds. A pure value with the clock passed in; not thread-safe.
class drain_rate {
public:
    static constexpr std::uint32_t most_seconds = 60;  ///< a client that waits longer had better ask again

    void record(double amount, time_point now) noexcept {
        if (amount_ == 0) began_ = last_ = now;
        fade(now);
        amount_ += amount;
    }

    /// Whole seconds, 1 to most_seconds, until `amount` will have drained at this rate; 1 while nothing is known.
    std::uint32_t seconds_for(double amount, time_point now) noexcept {
        if (amount_ == 0) return 1;
        fade(now);
        // What was recorded fills only the part of the window that has passed since the first record.
        const double seen = memory_s * (1 - std::exp(-seconds(now - began_) / memory_s));
        if (seen <= 0) return 1;
        const double wait = amount * seen / amount_;
        if (!(wait < most_seconds)) return most_seconds;
        return wait <= 1 ? 1 : static_cast<std::uint32_t>(std::ceil(wait));
    }

private:
    static constexpr double memory_s = 5;

    static double seconds(clock::duration d) noexcept { return std::chrono::duration<double>(d).count(); }

    void fade(time_point now) noexcept {
        if (now <= last_) return;
        amount_ *= std::exp(-seconds(now - last_) / memory_s);
        last_ = now;
    }

    double amount_ = 0;
    time_point began_{};
    time_point last_{};
};

}  // namespace asio_infer
