#include "gil.hpp"

#include <atomic>

namespace asio_infer::bindings {

namespace {

std::atomic<unsigned long> main_thread{0};

}  // namespace

void note_main_thread() {
    const py::object thread = py::module_::import("threading").attr("main_thread")();
    main_thread.store(py::cast<unsigned long>(thread.attr("ident")));
}

bool in_main_thread() noexcept { return PyThread_get_thread_ident() == main_thread.load(std::memory_order_relaxed); }

}  // namespace asio_infer::bindings
