#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace asio_infer {

/// Answers one question about a model: are its runs so short that one may happen on a network thread? Counts recent
/// runs against the limit; old ones fade by halving. A run of ten times the limit closes the door for the next thousand
/// runs at once, for the model's time depends on its input. A pure value; not thread-safe.
class run_time_estimate {
public:
    explicit run_time_estimate(std::chrono::nanoseconds limit) noexcept : limit_(limit) {}

    void record(std::chrono::nanoseconds took) noexcept {
        if (barred_ > 0) --barred_;
        if (took > 10 * limit_) barred_ = bar_runs;
        (took > limit_ ? longer_ : shorter_) += 1;
        if (shorter_ + longer_ >= window) {
            shorter_ /= 2;
            longer_ /= 2;
        }
    }

    /// Whether at most 1 in 100 recent runs was longer than the limit, with at least a few seen.
    bool short_enough() const noexcept {
        return barred_ == 0 && shorter_ >= needed && longer_ * 100 <= shorter_ + longer_;
    }

private:
    static constexpr std::uint32_t window = 2'000;
    static constexpr std::uint32_t needed = 3;
    static constexpr std::uint32_t bar_runs = 1'000;
    std::chrono::nanoseconds limit_;
    std::uint32_t shorter_ = 0;
    std::uint32_t longer_ = 0;
    std::uint32_t barred_ = 0;
};

}  // namespace asio_infer
