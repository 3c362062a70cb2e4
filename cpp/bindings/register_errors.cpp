#include <asio_infer/error.hpp>
#include <asio_infer/runtime_error.hpp>
#include <exception>
#include <string>

#include "core/status_table.hpp"
#include "errors.hpp"
#include "python.hpp"

namespace asio_infer::bindings {

namespace {

py::str to_str(std::string_view text) { return py::str(text.data(), text.size()); }

/// The rows as tuples (code, http_status, grpc_code, python_class), for the test that holds the classes against them.
py::list status_rows() {
    py::list rows;
    for (const status_row& row : status_table) {
        rows.append(py::make_tuple(to_str(row.name), row.http, row.grpc, to_str(row.python_class)));
    }
    return rows;
}

void translate(std::exception_ptr pointer) {
    try {
        if (pointer) {
            std::rethrow_exception(pointer);
        }
    } catch (const runtime_version_error& e) {
        const py::object type = py::module_::import("asio_infer.errors").attr("RuntimeVersionError");
        PyErr_SetString(type.ptr(), e.what());
    } catch (const runtime_unavailable& e) {
        PyErr_SetString(PyExc_ImportError, e.what());
    } catch (const exception& e) {
        const py::object instance = make_python_error({e.code(), e.what()});
        PyErr_SetObject(py::type::handle_of(instance).ptr(), instance.ptr());
    }
}

}  // namespace

py::object make_python_error(const error& e) {
    const status_row& row = status_of(e.code);
    const py::object type = py::module_::import("asio_infer.errors").attr(to_str(row.python_class));
    // Text that came from the network or from a model file need not be UTF-8.
    const auto message = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(e.message.data(), static_cast<Py_ssize_t>(e.message.size()), "backslashreplace"));
    if (!message) {
        throw py::error_already_set();
    }
    py::object instance = type(message);
    instance.attr("code") = to_str(row.name);
    instance.attr("http_status") = row.http;
    instance.attr("grpc_code") = row.grpc;
    return instance;
}

void register_errors(py::module_& m) {
    py::register_local_exception_translator(&translate);
    m.def("status_table", &status_rows, "Rows (code, http_status, grpc_code, class name) of the one status table.");
}

}  // namespace asio_infer::bindings
