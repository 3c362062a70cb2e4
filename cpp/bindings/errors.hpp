#pragma once

#include <asio_infer/error.hpp>

#include "python.hpp"

namespace asio_infer::bindings {

/// The exception object of the package that stands for this error: the class of its row in the status table, with
/// `code`, `http_status` and `grpc_code`. Needs the GIL.
py::object make_python_error(const error& e);

}  // namespace asio_infer::bindings
