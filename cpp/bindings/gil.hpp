#pragma once

#include <utility>

#include "python.hpp"

namespace asio_infer::bindings {

/// Takes the GIL again after PyEval_SaveThread. While the interpreter ends, a thread other than the one that ends it
/// stays here for ever: Python 3.11 to 3.13 would unwind it through destructors that need the GIL.
void return_to_python(PyThreadState* state);

/// From here on the calling thread is the one that ends the interpreter.
void set_ending_thread() noexcept;

/// Whether the interpreter is being torn down, so that nothing of Python may be touched from other threads.
bool python_is_ending() noexcept;

/// Remembers which thread Python calls the main one: where signal handlers run. With the GIL.
void note_main_thread();
bool in_main_thread() noexcept;

/// Runs `work`, which may wait and must not touch Python, without the GIL.
template <class Work>
auto without_gil(Work&& work) {
    struct guard {
        PyThreadState* state = PyEval_SaveThread();
        ~guard() noexcept(false) { return_to_python(state); }
    };
    const guard released;
    return std::forward<Work>(work)();
}

}  // namespace asio_infer::bindings
