#include "exit_gate.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "python.hpp"

namespace asio_infer::bindings {

namespace {

enum class gate { open, closing, closed };

/// For calls that are inside when the gate begins to close; the servers have been stopped by then.
constexpr auto longest_leave = std::chrono::seconds(2);

std::atomic<gate> state{gate::open};
std::atomic<std::thread::id> ending_thread{};
std::atomic<int> visits{0};

bool is_ending_thread() noexcept { return ending_thread.load() == std::this_thread::get_id(); }

[[noreturn]] void sleep_for_good() {
    for (;;) {
        std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

}  // namespace

python_visit::python_visit() {
    if (state.load() != gate::open && !is_ending_thread()) {
        PyEval_SaveThread();
        sleep_for_good();
    }
    visits.fetch_add(1);
}

python_visit::~python_visit() { visits.fetch_sub(1); }

void empty_exit_gate() {
    ending_thread.store(std::this_thread::get_id());
    state.store(gate::closing);
    const auto until = std::chrono::steady_clock::now() + longest_leave;
    while (visits.load() > 0 && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

void close_exit_gate() noexcept { state.store(gate::closed); }

void reset_exit_gate_in_child() noexcept { visits.store(0); }

void pass_exit_gate() {
    if (!is_ending_thread() && (state.load() == gate::closed || python_is_ending())) {
        sleep_for_good();
    }
}

bool python_is_ending() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

}  // namespace asio_infer::bindings
