#include "python.hpp"

namespace asio_infer::bindings {

PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
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
