#pragma once

#include <asio_infer/infer.hpp>
#include <chrono>

namespace asio_infer {

/// `start + wait`, or no_deadline where the clock cannot say it: no limit that a user sets overflows.
template <class Rep, class Period>
constexpr time_point later(time_point start, std::chrono::duration<Rep, Period> wait) noexcept {
    using wait_type = std::chrono::duration<Rep, Period>;
    if (wait >= std::chrono::duration_cast<wait_type>(no_deadline - start)) return no_deadline;
    return start + std::chrono::duration_cast<clock::duration>(wait);
}

}  // namespace asio_infer
