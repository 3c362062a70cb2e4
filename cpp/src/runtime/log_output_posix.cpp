#ifndef _WIN32

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/log_output.hpp"

namespace asio_infer {

namespace {

/// A pipe that is ready takes this much without blocking and without mixing it with another writer's.
std::string_view next_part(std::string_view text) noexcept {
    if (text.size() <= PIPE_BUF) return text;
    const std::size_t line_end = text.substr(0, PIPE_BUF).rfind('\n');
    return text.substr(0, line_end == std::string_view::npos ? PIPE_BUF : line_end + 1);
}

}  // namespace

bool is_terminal(int descriptor) noexcept { return ::isatty(descriptor) == 1; }

int process_id() noexcept { return ::getpid(); }

void block_signals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    // What the thread's own faults raise must not be blocked.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&all, fault);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

output_result write_some(int descriptor, std::string_view text, std::chrono::milliseconds patience) noexcept {
    if (descriptor < 0) return {output_state::failed, 0};  // poll() would wait for nothing
    pollfd ready{descriptor, POLLOUT, 0};
    const int polled = ::poll(&ready, 1, static_cast<int>(patience.count()));
    if (polled == 0 || (polled < 0 && errno == EINTR)) return {output_state::waiting, 0};
    if (polled < 0 || (ready.revents & POLLNVAL) != 0) return {output_state::failed, 0};
    const std::string_view part = next_part(text);
    const ssize_t n = ::write(descriptor, part.data(), part.size());
    if (n >= 0) return {output_state::done, static_cast<std::size_t>(n)};
    const bool again = errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
    return {again ? output_state::waiting : output_state::failed, 0};
}

}  // namespace asio_infer

#endif
