#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace asio_infer {

/// What the operating system says about this process; empty where it does not tell.
struct process_info {
    std::optional<std::uint64_t> resident_bytes;
    std::optional<std::uint64_t> virtual_bytes;
    std::optional<std::uint64_t> open_descriptors;
    std::optional<std::uint64_t> max_descriptors;
    std::optional<std::uint64_t> threads;
    std::optional<double> cpu_seconds;         ///< user and system, since the start
    std::optional<double> start_time_seconds;  ///< since 1970
};

/// Takes some ten microseconds on a recent Linux, and longer on one before 6.2 when many descriptors are open.
/// Thread-safe.
process_info read_process_info() noexcept;

/// What the numbers in /proc are counted in.
struct proc_units {
    std::uint64_t page_bytes = 4'096;
    double ticks_per_second = 100;
    double boot_time_seconds = 0;  ///< since 1970; 0: unknown
};

/// The members of `process_info` that /proc/self/stat has. Empty for a text that is not one. Pure.
process_info parse_proc_stat(std::string_view text, const proc_units& units) noexcept;

}  // namespace asio_infer
