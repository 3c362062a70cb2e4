#pragma once

#include <utility>

#include "exit_gate.hpp"
#include "python.hpp"

namespace asio_infer::bindings {

/// Remembers which thread Python calls the main one: where signal handlers run. With the GIL.
void note_main_thread();
bool in_main_thread() noexcept;

/// Runs `work`, which may wait and must not touch Python, without the GIL. Does not return once the exit gate is
/// closed for the thread.
template <class Work>
auto without_gil(Work&& work) {
    struct guard {
        PyThreadState* state = PyEval_SaveThread();
        ~guard() noexcept(false) {
            pass_exit_gate();
            PyEval_RestoreThread(state);
        }
    };
    const guard released;
    return std::forward<Work>(work)();
}

}  // namespace asio_infer::bindings
