#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace asio_infer {

/// Processor cores that this process may use: the smaller of its affinity mask and its CPU quota (rounded up), at
/// least 1. Reads the system at each call.
unsigned usable_cores();

/// Bytes of memory that this process may use: the smaller of the physical memory and its memory limit. 0 where the
/// system does not say. Reads the system at each call.
std::size_t usable_memory();

/// The pure half: what Linux control groups say, with the reading of files passed in.
namespace cgroup {

/// Gives the content of a file, or nothing if there is none.
using file_reader = std::function<std::optional<std::string>(const std::string& path)>;

/// CPUs worth of time from `cpu.max` (version 2: "150000 100000", "max 100000"); nothing if unlimited.
std::optional<double> parse_cpu_max(std::string_view text);

/// The same from `cpu.cfs_quota_us` and `cpu.cfs_period_us` (version 1: a quota of -1 is unlimited).
std::optional<double> parse_cfs(std::string_view quota, std::string_view period);

/// Bytes from `memory.max` (version 2) or `memory.limit_in_bytes` (version 1, where unlimited is a number near 2^63).
std::optional<std::size_t> parse_memory_limit(std::string_view text);

/// This process's group of a version 1 controller ("cpu", "memory"), or of version 2 with "", in the text of
/// /proc/self/cgroup.
std::optional<std::string> parse_group(std::string_view proc_self_cgroup, std::string_view controller);

/// The tightest CPU quota from this process's group up to the root, as CPUs.
std::optional<double> cpu_quota(const file_reader& read);

/// The tightest memory limit from this process's group up to the root, in bytes.
std::optional<std::size_t> memory_limit(const file_reader& read);

}  // namespace cgroup

/// Cores of the affinity mask under a quota in CPUs. A part of a CPU counts as one.
unsigned cores_within(unsigned affinity, std::optional<double> quota) noexcept;

}  // namespace asio_infer
