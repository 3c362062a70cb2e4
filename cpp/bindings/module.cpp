#include "python.hpp"

namespace asio_infer::bindings {

PYBIND11_MODULE(_core_of_main, m, py::mod_gil_not_used()) {
    m.doc() = "The compiled part of asio_infer. Private: use the names of the package.";
    m.attr("__version__") = ASIO_INFER_VERSION;
    register_errors(m);
    register_runtime(m);
    register_log(m);
    register_options(m);
    register_model(m);
    register_server(m);
    register_infer(m);
}

}  // namespace asio_infer::bindings

/// The module's entry. pybind11 would wait for ever for the GIL in a sub-interpreter of Python 3.11.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "asio_infer works in the main interpreter only, not in sub-interpreters");
        return nullptr;
    }
    return asio_infer::bindings::PyInit__core_of_main();
}
