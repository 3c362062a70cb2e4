#pragma once

#include <algorithm>
#include <asio_infer/infer.hpp>
#include <chrono>
#include <cstddef>

#include "core/later.hpp"

namespace asio_infer {

/// How slowly bytes may move. Patience is used up by time and comes back with bytes: each second's worth of bytes at
/// the least rate gives a second, up to all of it. So nobody may pause longer than the patience, and nobody may be
/// slower than the rate for long: a byte now and then does not hold a connection. A pure value with the clock passed
/// in.
class progress_limit {
public:
    /// `min_bytes_per_s` 0: any progress restores all patience.
    progress_limit(std::chrono::milliseconds patience, std::size_t min_bytes_per_s) noexcept
        : patience_(patience), rate_(static_cast<double>(min_bytes_per_s)) {}

    void start(time_point now) noexcept { deadline_ = later(now, patience_); }
    void stop() noexcept { deadline_ = no_deadline; }
    void moved(std::size_t bytes, time_point now) noexcept {
        const time_point whole = later(now, patience_);
        const std::chrono::duration<double> earned(rate_ > 0 ? static_cast<double>(bytes) / rate_ : 0);
        deadline_ = rate_ > 0 && earned < whole - deadline_
                        ? deadline_ + std::chrono::duration_cast<clock::duration>(earned)
                        : whole;
    }
    bool started() const noexcept { return deadline_ != no_deadline; }
    /// When the patience ends; no_deadline if nothing is to move.
    time_point deadline() const noexcept { return deadline_; }

private:
    std::chrono::milliseconds patience_;
    double rate_;
    time_point deadline_ = no_deadline;
};

}  // namespace asio_infer
