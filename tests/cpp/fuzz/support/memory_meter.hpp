#pragma once

#include <cstddef>

namespace asio_infer::fuzz {

/// What operator new has given out since the meter began: the most that lived at one time. One at a time, one thread.
class memory_meter {
public:
    memory_meter() noexcept;
    std::size_t peak_bytes() const noexcept;
};

}  // namespace asio_infer::fuzz
