#include "exit_gate.hpp"
#include "gil.hpp"
#include "python.hpp"
#include "python_thread.hpp"
#include "server_handle.hpp"

namespace asio_infer::bindings {

namespace {

void end_python() {
    without_gil([] {
        empty_exit_gate();
        python_thread::get().stop();
        close_exit_gate();
    });
}

void after_fork_in_child() {
    reset_exit_gate_in_child();
    python_thread::after_fork_in_child();
    server_handle::after_fork_in_child();
    note_main_thread();
}

}  // namespace

void register_runtime(py::module_& m) {
    note_main_thread();
    m.def("end_python", &end_python, "At exit: hands over the last results; from then on no thread touches Python.");
    m.def("after_fork_in_child", &after_fork_in_child, "In the child of a fork: leaves the parent's servers alone.");
}

}  // namespace asio_infer::bindings
