#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace asio_infer {

/// What the log writer needs of the operating system; log_output_posix.cpp and log_output_windows.cpp.

bool is_terminal(int descriptor) noexcept;

/// A number for this process: another one in a child made by fork.
int process_id() noexcept;

/// Keeps signals away from the calling thread, so that they reach the program's own, and a broken pipe is an error.
void block_signals() noexcept;

enum class output_state { done, waiting, failed };

struct output_result {
    output_state state;
    std::size_t written;  ///< bytes that are out, in each state
};

/// Writes a part of `text`, as much as can be written without blocking, after waiting up to `patience` until some can.
/// Ends the part with a line where possible, so that lines of other writers do not come between.
output_result write_some(int descriptor, std::string_view text, std::chrono::milliseconds patience) noexcept;

}  // namespace asio_infer
