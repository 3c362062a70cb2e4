#include "call_builder.hpp"

#include <algorithm>
#include <asio_infer/error.hpp>
#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>

#include "array.hpp"
#include "gil.hpp"

namespace asio_infer::bindings {

namespace {

std::string type_name(py::handle value) { return Py_TYPE(value.ptr())->tp_name; }

std::string key_text(py::handle key, const char* what) {
    if (!PyUnicode_Check(key.ptr())) {
        throw_python(PyExc_TypeError, std::string(what) + " must be str, not " + type_name(key));
    }
    return py::cast<std::string>(key);
}

/// The items of any mapping as a list of pairs that nobody else can change.
py::list items_of(py::handle mapping, const char* what) {
    if (!PyMapping_Check(mapping.ptr()) || PySequence_Check(mapping.ptr())) {
        throw_python(PyExc_TypeError, std::string(what) + " must be a mapping, not " + type_name(mapping));
    }
    const auto items = py::reinterpret_steal<py::list>(PyMapping_Items(mapping.ptr()));
    if (!items) {
        throw py::error_already_set();
    }
    return items;
}

const tensor_spec* find_input(const model_spec& spec, std::string_view name) {
    const auto found = std::ranges::find(spec.inputs, name, &tensor_spec::name);
    return found == spec.inputs.end() ? nullptr : &*found;
}

/// Lists and numbers take the type of the model's input; what is an array to numpy keeps its own.
py::object as_array(py::handle value, const std::string& name, const tensor_spec* input) {
    if (is_array(value)) {
        return py::reinterpret_borrow<py::object>(value);
    }
    const py::object wanted = input == nullptr ? py::object(py::none()) : py::str(asio_infer::name(input->type).data());
    return py::module_::import("asio_infer._arrays").attr("as_array")(value, name, wanted);
}

void add_inputs(infer_request& request, py::handle inputs, const model_spec& spec) {
    for (const py::handle item : items_of(inputs, "inputs")) {
        const auto pair = py::reinterpret_borrow<py::tuple>(item);
        named_tensor input;
        input.name = key_text(pair[0], "names of inputs");
        const tensor_spec* const known = find_input(spec, input.name);
        const py::object array = as_array(pair[1], input.name, known);
        input.value = tensor_from_array(array, input.name, known == nullptr ? nullptr : &known->type);
        request.inputs.push_back(std::move(input));
    }
}

void add_outputs(infer_request& request, py::handle outputs) {
    if (outputs.is_none()) {
        return;
    }
    if (PyUnicode_Check(outputs.ptr()) || PyBytes_Check(outputs.ptr())) {
        throw_python(PyExc_TypeError, "outputs must be a sequence of names, not one " + type_name(outputs));
    }
    for (const py::handle output : outputs) {
        requested_output wanted;
        wanted.name = key_text(output, "names of outputs");
        wanted.binary = true;
        request.outputs.push_back(std::move(wanted));
    }
    if (request.outputs.empty()) {
        throw exception(errc::invalid_request, "outputs is empty: leave it out to get all outputs");
    }
}

parameter_value integer_parameter(const std::string& name, py::handle value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0) {
        return std::int64_t{number};
    }
    const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(value.ptr()) : 0;
    if (overflow < 0 || PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        throw exception(errc::invalid_request, "parameter '" + name + "' does not fit 64 bits");
    }
    return std::uint64_t{large};
}

parameter_value parameter_of(const std::string& name, py::handle value) {
    if (PyBool_Check(value.ptr())) {
        return value.ptr() == Py_True;
    }
    if (PyLong_Check(value.ptr())) {
        return integer_parameter(name, value);
    }
    if (PyFloat_Check(value.ptr())) {
        return PyFloat_AS_DOUBLE(value.ptr());
    }
    if (PyUnicode_Check(value.ptr())) {
        return py::cast<std::string>(value);
    }
    throw_python(PyExc_TypeError, "parameter '" + name + "' must be bool, int, float or str, not " + type_name(value));
}

void add_parameters(infer_request& request, py::handle parameters) {
    if (parameters.is_none()) {
        return;
    }
    for (const py::handle item : items_of(parameters, "parameters")) {
        const auto pair = py::reinterpret_borrow<py::tuple>(item);
        std::string name = key_text(pair[0], "names of parameters");
        if (name == "timeout") {
            throw exception(errc::invalid_request, "parameter 'timeout' is the argument timeout_s here");
        }
        parameter_value value = parameter_of(name, pair[1]);
        request.parameters.emplace_back(std::move(name), std::move(value));
    }
}

time_point deadline_after(std::optional<double> timeout_s, time_point now) {
    constexpr double longest_s = 1e9;
    if (!timeout_s) {
        return no_deadline;
    }
    if (!(*timeout_s > 0)) {
        throw exception(errc::invalid_request,
                        "timeout_s must be more than 0 seconds, not " + std::to_string(*timeout_s));
    }
    if (*timeout_s >= longest_s) {
        return no_deadline;
    }
    return now + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(*timeout_s));
}

}  // namespace

built_call build_call(const server_handle& server, const call_arguments& arguments) {
    built_call built{std::make_unique<infer_call>(), server.get().find(arguments.model, arguments.version).value()};
    infer_request& request = built.call->request;
    request.id = arguments.id;
    request.binary_output = true;
    add_inputs(request, arguments.inputs, built.model->spec());
    add_outputs(request, arguments.outputs);
    add_parameters(request, arguments.parameters);
    built.call->arrived = clock::now();
    built.call->deadline = deadline_after(arguments.timeout_s, built.call->arrived);
    return built;
}

py::dict take_outputs(infer_call& call) {
    if (call.outcome.has_error()) {
        throw exception(call.outcome.error());
    }
    const std::vector<tensor_spec>& specs = call.model->spec().outputs;
    std::vector<tensor>& values = *call.outcome;
    py::dict outputs;
    for (std::size_t i = 0; i < values.size(); ++i) {
        outputs[py::str(specs[call.outputs[i].index].name)] = array_from_tensor(std::move(values[i]));
    }
    return outputs;
}

void release_model(model_ptr model) {
    if (model.use_count() == 1) {
        without_gil([&] { model.reset(); });
    }
}

}  // namespace asio_infer::bindings
