#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/status_table.hpp"

namespace asio_infer {

/// Counts and sums in fixed buckets. `record` is wait-free; readers see values that may be a few records apart.
template <std::size_t N>
class histogram {
public:
    explicit constexpr histogram(const std::array<double, N>& upper_bounds) : bounds_(&upper_bounds) {}
    void record(double value) noexcept {
        std::size_t i = 0;
        while (i < N && value > (*bounds_)[i]) ++i;
        counts_[i].fetch_add(1, std::memory_order_relaxed);
        sum_.fetch_add(value, std::memory_order_relaxed);
    }
    const std::array<double, N>& bounds() const noexcept { return *bounds_; }
    /// The count of bucket i (not cumulative); i == N is above the last bound.
    std::uint64_t count(std::size_t i) const noexcept { return counts_[i].load(std::memory_order_relaxed); }
    double sum() const noexcept { return sum_.load(std::memory_order_relaxed); }

private:
    const std::array<double, N>* bounds_;
    std::array<std::atomic<std::uint64_t>, N + 1> counts_{};
    std::atomic<double> sum_{0};
};

inline constexpr std::array<double, 16> latency_bounds_s{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                         0.025,   0.05,   0.1,     0.25,   0.5,   1,      2.5,   10};
inline constexpr std::array<double, 10> batch_bounds{1, 2, 4, 8, 16, 32, 64, 128, 256, 512};

/// Events of one kind and the time they took.
struct timed_count {
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> ns{0};
    void add(std::uint64_t n, std::uint64_t nanoseconds) noexcept {
        count.fetch_add(n, std::memory_order_relaxed);
        ns.fetch_add(nanoseconds, std::memory_order_relaxed);
    }
};

/// The runs of one batch size, for the statistics' batch_stats.
struct run_of_size {
    timed_count compute_input;
    timed_count compute_infer;
    timed_count compute_output;
};

/// Everything that is counted about one version of a model. Written by its scheduler and the request stage, read by
/// the statistics and metrics. All members are atomic; no lock.
struct model_stats {
    timed_count success;  ///< requests answered with a result; ns from arrival to result
    timed_count fail;     ///< requests answered with an error
    std::array<std::atomic<std::uint64_t>, errc_count> failures{};  ///< `fail` by errc
    timed_count queue;                                ///< successful requests; ns from queued to run start
    timed_count compute_input;                        ///< gathering inputs
    timed_count compute_infer;                        ///< the runtime's part
    timed_count compute_output;                       ///< fetching and splitting outputs
    std::atomic<std::uint64_t> inferences{0};         ///< rows of successful requests
    std::atomic<std::uint64_t> executions{0};         ///< runs
    std::atomic<std::int64_t> pending{0};             ///< requests in the queue, not running
    std::atomic<std::int64_t> running{0};             ///< requests in a run
    std::atomic<std::uint64_t> last_inference_ms{0};  ///< wall clock, ms since 1970
    histogram<latency_bounds_s.size()> request_seconds{latency_bounds_s};
    histogram<latency_bounds_s.size()> queue_seconds{latency_bounds_s};
    histogram<latency_bounds_s.size()> run_seconds{latency_bounds_s};
    histogram<batch_bounds.size()> batch_rows{batch_bounds};
    /// Runs by rows: 0 to 64 each at its index, larger ones in the last.
    std::array<run_of_size, 66> runs_by_rows{};

    void record_failure(errc code, std::uint64_t ns) noexcept {
        fail.add(1, ns);
        failures[static_cast<std::size_t>(code)].fetch_add(1, std::memory_order_relaxed);
    }
};

/// What is counted about the server as a whole.
struct server_stats {
    std::atomic<std::uint64_t> connections_accepted{0};
    std::atomic<std::int64_t> connections_open{0};
    std::atomic<std::uint64_t> connections_refused{0};  ///< over the limit
    std::atomic<std::uint64_t> tls_failures{0};         ///< handshakes
    std::atomic<std::uint64_t> requests{0};
    std::array<std::atomic<std::uint64_t>, 6> responses{};         ///< by status class; [0] is unused
    std::array<std::atomic<std::uint64_t>, errc_count> refused{};  ///< requests that failed before a model was found
    std::atomic<std::uint64_t> bytes_received{0};
    std::atomic<std::uint64_t> bytes_sent{0};
    std::atomic<std::int64_t> shared_regions{0};  ///< of clients' shared memory
};

}  // namespace asio_infer
