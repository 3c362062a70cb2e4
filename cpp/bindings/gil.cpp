#include "gil.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace asio_infer::bindings {

namespace {

std::atomic<std::thread::id> ending_thread{};
std::atomic<unsigned long> main_thread{0};

}  // namespace

bool python_is_ending() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
}

void set_ending_thread() noexcept { ending_thread.store(std::this_thread::get_id()); }

void note_main_thread() {
    const py::object thread = py::module_::import("threading").attr("main_thread")();
    main_thread.store(py::cast<unsigned long>(thread.attr("ident")));
}

bool in_main_thread() noexcept { return PyThread_get_thread_ident() == main_thread.load(std::memory_order_relaxed); }

void return_to_python(PyThreadState* state) {
    while (python_is_ending() && ending_thread.load() != std::this_thread::get_id()) {
        std::this_thread::sleep_for(std::chrono::hours(1));
    }
    PyEval_RestoreThread(state);
}

}  // namespace asio_infer::bindings
