#include <pybind11/stl.h>

#include <asio_infer/model_spec.hpp>
#include <string>
#include <vector>

#include "python.hpp"

namespace asio_infer::bindings {

namespace {

std::string datatype(const tensor_spec& spec) { return std::string(name(spec.type)); }

std::vector<std::int64_t> dims(const tensor_spec& spec) { return {spec.shape.begin(), spec.shape.end()}; }

}  // namespace

void register_model(py::module_& m) {
    py::class_<tensor_spec>(m, "TensorSpec", "One input or output of a model.")
        .def_readonly("name", &tensor_spec::name)
        .def_property_readonly("datatype", &datatype)
        .def_property_readonly("shape", &dims)
        .def_readonly("symbols", &tensor_spec::symbols)
        .def_readonly("optional", &tensor_spec::optional)
        .def_readonly("unsupported", &tensor_spec::unsupported);
    py::class_<model_spec>(m, "ModelSpec", "What a loaded model takes and gives.")
        .def_readonly("name", &model_spec::name)
        .def_readonly("version", &model_spec::version)
        .def_readonly("platform", &model_spec::platform)
        .def_readonly("backend", &model_spec::backend)
        .def_readonly("inputs", &model_spec::inputs)
        .def_readonly("outputs", &model_spec::outputs)
        .def_readonly("max_batch_rows", &model_spec::max_batch_rows)
        .def_readonly("batching_reason", &model_spec::batching_reason)
        .def_readonly("instances", &model_spec::instances)
        .def_readonly("max_batch_delay_s", &model_spec::max_batch_delay_s)
        .def_readonly("max_queue_size", &model_spec::max_queue_size)
        .def_readonly("providers", &model_spec::providers);
}

}  // namespace asio_infer::bindings
