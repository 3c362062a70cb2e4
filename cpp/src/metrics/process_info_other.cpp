#ifndef __linux__

#include <ctime>

#include "metrics/process_info.hpp"

namespace asio_infer {

/// Standard C++ tells the processor time only (on Windows, elapsed time, so not even that).
process_info read_process_info() noexcept {
    process_info info;
#ifndef _WIN32
    info.cpu_seconds = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
#endif
    return info;
}

}  // namespace asio_infer

#endif
