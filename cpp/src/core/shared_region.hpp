#pragma once

#include <cstdint>
#include <string>

namespace asio_infer {

/// A region of shared memory as a client has registered it.
struct shared_region {
    std::string name;
    std::string key;  ///< what shm_open takes
    std::uint64_t offset = 0;
    std::uint64_t byte_size = 0;
};

}  // namespace asio_infer
