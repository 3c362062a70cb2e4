#if defined(_WIN32)

#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <bit>
#include <thread>

#include "core/cpu_count.hpp"

namespace asio_infer {

unsigned usable_cores() {
    DWORD_PTR process = 0;
    DWORD_PTR system = 0;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &process, &system) || process == 0)
        return cores_within(std::thread::hardware_concurrency(), std::nullopt);
    return static_cast<unsigned>(std::popcount(process));
}

std::size_t usable_memory() {
    MEMORYSTATUSEX status{};
    status.dwLength = sizeof status;
    return GlobalMemoryStatusEx(&status) ? static_cast<std::size_t>(status.ullTotalPhys) : 0;
}

}  // namespace asio_infer

#endif
