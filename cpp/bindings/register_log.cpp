#include <asio_infer/log.hpp>
#include <memory>

#include "python.hpp"
#include "python_log.hpp"
#include "python_thread.hpp"

namespace asio_infer::bindings {

namespace {

std::shared_ptr<log_sink> make_python_log(log_level level) {
    python_thread::get().ensure_started();
    return std::make_shared<python_log>(level);
}

}  // namespace

void register_log(py::module_& m) {
    py::enum_<log_level>(m, "LogLevel", "Severity, with the numbers of Python's logging.")
        .value("debug", log_level::debug)
        .value("info", log_level::info)
        .value("warning", log_level::warning)
        .value("error", log_level::error)
        .value("off", log_level::off);
    py::class_<log_sink, std::shared_ptr<log_sink>>(m, "LogSink", "Where log records go.");
    m.def("make_python_log", &make_python_log, py::arg("level"),
          "A sink that hands records to logging.getLogger('asio_infer').");
    m.def("make_stderr_log", &make_stderr_log, py::arg("level"), py::arg("json"),
          "A sink that writes lines to stderr, by a thread of its own.");
}

}  // namespace asio_infer::bindings
