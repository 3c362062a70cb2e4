#pragma once

#include <pybind11/pybind11.h>

/// What every file of this folder shares: the only place of the project that knows Python.
namespace asio_infer::bindings {

namespace py = pybind11;

// One concept each, in the order in which they need each other's types.
void register_errors(py::module_& m);
void register_runtime(py::module_& m);
void register_log(py::module_& m);
void register_options(py::module_& m);
void register_model(py::module_& m);
void register_server(py::module_& m);
void register_infer(py::module_& m);

/// A Python exception of this type with a message of any content.
[[noreturn]] inline void throw_python(PyObject* type, const std::string& message) {
    PyErr_SetString(type, message.c_str());
    throw py::error_already_set();
}

}  // namespace asio_infer::bindings
