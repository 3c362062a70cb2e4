#if defined(__linux__)

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "core/cpu_count.hpp"

namespace asio_infer {
namespace {

std::optional<std::string> read_file(const std::string& path) {
    std::ifstream file(path);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
}

struct cpu_set_deleter {
    void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
};

/// The affinity mask's size, or 0 if the kernel's mask is larger than `capacity` CPUs.
unsigned cores_of_mask(int capacity) {
    const std::unique_ptr<cpu_set_t, cpu_set_deleter> set(CPU_ALLOC(static_cast<std::size_t>(capacity)));
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
    if (!set || sched_getaffinity(0, size, set.get()) != 0) return 0;
    return static_cast<unsigned>(CPU_COUNT_S(size, set.get()));
}

unsigned affinity_cores() {
    constexpr int largest = 1 << 16;
    for (int capacity = 1024; capacity <= largest; capacity *= 4)
        if (const unsigned cores = cores_of_mask(capacity)) return cores;
    return std::thread::hardware_concurrency();
}

std::size_t physical_memory() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_size = sysconf(_SC_PAGE_SIZE);
    if (pages <= 0 || page_size <= 0) return 0;
    return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_size);
}

}  // namespace

unsigned usable_cores() { return cores_within(affinity_cores(), cgroup::cpu_quota(read_file)); }

std::size_t usable_memory() {
    const std::size_t physical = physical_memory();
    const auto limit = cgroup::memory_limit(read_file);
    if (!limit) return physical;
    return physical == 0 ? *limit : std::min(physical, *limit);
}

}  // namespace asio_infer

#endif
