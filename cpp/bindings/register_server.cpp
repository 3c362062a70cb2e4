#include <pybind11/stl.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exit_gate.hpp"
#include "gil.hpp"
#include "python.hpp"
#include "server_handle.hpp"

namespace asio_infer::bindings {

namespace {

std::unique_ptr<server_handle> make_server(const server_options& options, std::shared_ptr<log_sink> log) {
    return std::make_unique<server_handle>(options, std::move(log));
}

model_spec register_model_in(const server_handle& self, const model_options& options) {
    return without_gil([&] { return self.get().register_model(options); });
}

void unregister(const server_handle& self, const std::string& name, std::optional<std::int64_t> version) {
    without_gil([&] { self.get().unregister_model(name, version); });
}

model_spec inspect(const server_handle& self, const model_options& options) {
    return without_gil([&] { return self.get().inspect(options); });
}

std::vector<model_spec> models(const server_handle& self) {
    return without_gil([&] { return self.get().models(); });
}

void start(const server_handle& self) {
    without_gil([&] { self.get().start(); });
}

void stop(const server_handle& self, double drain_s) {
    const auto limit = std::chrono::round<std::chrono::milliseconds>(std::chrono::duration<double>(drain_s));
    without_gil([&] { self.get().stop(limit); });
}

std::string statistics_json(const server_handle& self) {
    return without_gil([&] { return self.get().statistics_json(); });
}

std::string metrics_text(const server_handle& self) {
    return without_gil([&] { return self.get().metrics_text(); });
}

}  // namespace

void register_server(py::module_& m) {
    const py::call_guard<python_visit> visit;
    py::class_<server_handle>(m, "Server", "A server of this process. Thread-safe; releases the GIL where it waits.")
        .def(py::init(&make_server), py::arg("options"), py::arg("log"), visit)
        .def("register", &register_model_in, py::arg("options"), visit)
        .def("unregister", &unregister, py::arg("name"), py::arg("version").none(true), visit)
        .def("inspect", &inspect, py::arg("options"), visit)
        .def("models", &models, visit)
        .def("start", &start, visit)
        .def("stop", &stop, py::arg("drain_s"), visit)
        .def("force_stop", [](const server_handle& self) { self.get().force_stop(); })
        .def_property_readonly("running", [](const server_handle& self) { return self.get().running(); })
        .def_property_readonly("ready", [](const server_handle& self) { return self.get().ready(); })
        .def_property_readonly("port", [](const server_handle& self) { return self.get().port(); })
        .def_property_readonly("url", [](const server_handle& self) { return self.get().url(); })
        .def("statistics_json", &statistics_json, visit)
        .def("metrics_text", &metrics_text, visit);
}

}  // namespace asio_infer::bindings
