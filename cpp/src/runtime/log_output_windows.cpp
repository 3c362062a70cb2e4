#ifdef _WIN32

#include <io.h>
#include <process.h>

#include <algorithm>

#include "runtime/log_output.hpp"

namespace asio_infer {

bool is_terminal(int descriptor) noexcept { return ::_isatty(descriptor) != 0; }

int process_id() noexcept { return ::_getpid(); }

void block_signals() noexcept {}

/// Windows has no wait for a descriptor: the call blocks, in small parts, and the writer is let go of at the end if
/// one does not return.
output_result write_some(int descriptor, std::string_view text, std::chrono::milliseconds) noexcept {
    const auto size = static_cast<unsigned>(std::min<std::size_t>(text.size(), 4'096));
    const int n = ::_write(descriptor, text.data(), size);
    return n < 0 ? output_result{output_state::failed, 0}
                 : output_result{output_state::done, static_cast<std::size_t>(n)};
}

}  // namespace asio_infer

#endif
