#pragma once

namespace asio_infer::bindings {

/// What becomes of calls in daemon threads when the program ends. Python 3.11 to 3.13 ends such a thread wherever it
/// asks for the GIL by unwinding its stack, through destructors that need the GIL, and the process crashes. So before
/// the interpreter is torn down the gate closes: calls that are inside may leave, for a limited time; from then on
/// every thread but the one that ends the interpreter sleeps at the gate until the process is gone.

/// One call from Python, while it is in C++ code that holds Python objects. Made and destroyed with the GIL; a
/// py::call_guard of every bound function that waits or may run Python code.
class python_visit {
public:
    python_visit();
    ~python_visit();
    python_visit(const python_visit&) = delete;
    python_visit& operator=(const python_visit&) = delete;
};

/// Lets no further call in and waits, for a limited time, until those inside have left. The calling thread is the one
/// that ends the interpreter. Without the GIL.
void empty_exit_gate();

/// From here on no other thread passes.
void close_exit_gate() noexcept;

/// In the child of a fork: the calls of other threads are not there.
void reset_exit_gate_in_child() noexcept;

/// Never returns for a thread that must not run Python code any more. Without the GIL.
void pass_exit_gate();

/// Whether the interpreter is being torn down, so that nothing of Python may be touched from other threads.
bool python_is_ending() noexcept;

}  // namespace asio_infer::bindings
