#if !defined(__linux__) && !defined(_WIN32)

#include <unistd.h>

#include <thread>

#include "core/cpu_count.hpp"

namespace asio_infer {

unsigned usable_cores() { return cores_within(std::thread::hardware_concurrency(), std::nullopt); }

std::size_t usable_memory() {
#if defined(_SC_PHYS_PAGES)
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_size > 0) return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_size);
#endif
    return 0;
}

}  // namespace asio_infer

#endif
