#include "request/bind.hpp"

#include <boost/container/small_vector.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "request/in_quotes.hpp"

namespace asio_infer {
namespace {

error refuse(std::string_view kind, std::string_view name, const std::string& what) {
    return {errc::invalid_request, std::string(kind) + ' ' + in_quotes(name) + ": " + what};
}
error refuse_input(std::string_view name, const std::string& what) { return refuse("input", name, what); }
error refuse_output(std::string_view name, const std::string& what) { return refuse("output", name, what); }

std::optional<std::uint32_t> find(std::span<const tensor_spec> specs, std::string_view name) noexcept {
    for (std::size_t i = 0; i < specs.size(); ++i)
        if (specs[i].name == name) return static_cast<std::uint32_t>(i);
    return std::nullopt;
}

/// "it has 'A' and 'B'", for a name that is unknown.
std::string names_of(std::span<const tensor_spec> specs) {
    constexpr std::size_t most = 20;
    if (specs.empty()) return "it has none";
    std::string text = "it has ";
    for (std::size_t i = 0; i < specs.size() && i < most; ++i) {
        if (i > 0) text += ", ";
        text += in_quotes(specs[i].name);
    }
    return specs.size() > most ? text + ", ..." : text;
}

std::string cannot_travel(const tensor_spec& spec) {
    return "its type " + spec.unsupported + " cannot be carried by this protocol";
}

bool dims_match(const shape& given, const tensor_spec& spec) noexcept {
    if (spec.any_rank) return true;
    if (given.size() != spec.shape.size()) return false;
    for (std::size_t i = 0; i < given.size(); ++i)
        if (spec.shape[i] >= 0 && given[i] != spec.shape[i]) return false;
    return true;
}

/// Whether a tensor's bytes fill its shape. Decoders see to that; this holds for callers in the same process too.
bool filled(const tensor& value) noexcept {
    const std::optional<std::size_t> elements = element_count(value.shape);
    const std::size_t width = element_size(value.type);
    if (!elements) return false;
    return width == 0 || (value.data.size() % width == 0 && value.data.size() / width == *elements);
}

result<void> check_tensor(const tensor& value, const tensor_spec& spec) {
    if (!spec.unsupported.empty()) return refuse_input(spec.name, cannot_travel(spec));
    if (value.type != spec.type)
        return refuse_input(spec.name, "datatype " + std::string(name(value.type)) + " where the model takes " +
                                           std::string(name(spec.type)));
    if (!dims_match(value.shape, spec))
        return refuse_input(spec.name,
                            "shape " + to_string(value.shape) + " where the model takes " + to_string(spec.shape));
    if (!filled(value))
        return refuse_input(spec.name,
                            std::to_string(value.data.size()) + " bytes do not fill shape " + to_string(value.shape));
    return {};
}

result<void> place_inputs(infer_call& call, const model_spec& spec) {
    call.inputs.assign(spec.inputs.size(), nullptr);
    for (const named_tensor& given : call.request.inputs) {
        const std::optional<std::uint32_t> at = find(spec.inputs, given.name);
        if (!at) return refuse_input(given.name, "the model has no such input; " + names_of(spec.inputs));
        if (call.inputs[*at] != nullptr) return refuse_input(given.name, "given twice");
        if (const result<void> good = check_tensor(given.value, spec.inputs[*at]); !good) return good;
        call.inputs[*at] = &given.value;
    }
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
        const tensor_spec& wanted = spec.inputs[i];
        if (call.inputs[i] != nullptr || wanted.optional) continue;
        return refuse_input(wanted.name, wanted.unsupported.empty() ? "missing" : cannot_travel(wanted));
    }
    return {};
}

/// A symbolic dimension and the input that gave it its value first.
struct symbol_value {
    std::string_view symbol;
    std::string_view input;
    std::int64_t dim;
};
using symbol_values = boost::container::small_vector<symbol_value, 8>;

result<void> check_symbol(symbol_values& known, std::string_view symbol, std::string_view input, std::int64_t dim) {
    for (const symbol_value& other : known) {
        if (other.symbol != symbol) continue;
        if (other.dim == dim) return {};
        return refuse_input(input, "dimension " + in_quotes(symbol) + " is " + std::to_string(dim) + " but input " +
                                       in_quotes(other.input) + " has " + std::to_string(other.dim));
    }
    known.push_back({symbol, input, dim});
    return {};
}

/// The runtime does not compare them: it would broadcast, or fail for a whole batch.
result<void> check_symbols(const infer_call& call, const model_spec& spec) {
    symbol_values known;
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
        const tensor_spec& input = spec.inputs[i];
        if (call.inputs[i] == nullptr) continue;
        const shape& dims = call.inputs[i]->shape;
        for (std::size_t d = 0; d < dims.size() && d < input.symbols.size(); ++d) {
            if (input.symbols[d].empty()) continue;
            if (const result<void> good = check_symbol(known, input.symbols[d], input.name, dims[d]); !good)
                return good;
        }
    }
    return {};
}

/// In a batched model: all inputs but optional ones always have it.
bool has_batch_axis(const tensor_spec& input) noexcept {
    return input.any_rank || (!input.shape.empty() && input.shape.front() < 0);
}

result<void> count_rows(infer_call& call, const model_spec& spec) {
    call.rows = 1;
    call.runs_alone = false;
    if (!spec.batched()) return {};
    std::optional<std::int64_t> rows;
    std::string_view first;
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
        if (call.inputs[i] == nullptr) continue;
        if (!has_batch_axis(spec.inputs[i])) {
            call.runs_alone = true;
            continue;
        }
        const std::string& own = spec.inputs[i].name;
        const shape& dims = call.inputs[i]->shape;
        if (dims.empty()) return refuse_input(own, "a scalar has no batch dimension");
        if (rows && *rows != dims.front())
            return refuse_input(own, std::to_string(dims.front()) + " rows but input " + in_quotes(first) + " has " +
                                         std::to_string(*rows));
        if (!rows) first = own;
        rows = dims.front();
    }
    if (!rows) return {};
    if (*rows > std::int64_t{spec.max_batch_rows})
        return refuse_input(first, std::to_string(*rows) + " rows where the model takes at most " +
                                       std::to_string(spec.max_batch_rows) + " in one request");
    call.rows = static_cast<std::uint32_t>(*rows);
    return {};
}

result<void> take_all_outputs(infer_call& call, const model_spec& spec) {
    for (std::size_t i = 0; i < spec.outputs.size(); ++i)
        if (spec.outputs[i].unsupported.empty())
            call.outputs.push_back({static_cast<std::uint32_t>(i), call.request.binary_output, 0});
    if (call.outputs.empty() && !spec.outputs.empty())
        return refuse_output(spec.outputs.front().name, cannot_travel(spec.outputs.front()));
    return {};
}

bool taken(const infer_call& call, std::uint32_t index) noexcept {
    for (const infer_call::bound_output& output : call.outputs)
        if (output.index == index) return true;
    return false;
}

result<void> take_outputs(infer_call& call, const model_spec& spec) {
    call.outputs.clear();
    if (call.request.outputs.empty()) return take_all_outputs(call, spec);
    for (const requested_output& wanted : call.request.outputs) {
        const std::optional<std::uint32_t> at = find(spec.outputs, wanted.name);
        if (!at) return refuse_output(wanted.name, "the model has no such output; " + names_of(spec.outputs));
        if (taken(call, *at)) return refuse_output(wanted.name, "asked for twice");
        if (!spec.outputs[*at].unsupported.empty()) return refuse_output(wanted.name, cannot_travel(spec.outputs[*at]));
        call.outputs.push_back({*at, wanted.binary, wanted.classification});
    }
    return {};
}

}  // namespace

result<void> bind(infer_call& call, const model_spec& spec) {
    if (const result<void> good = place_inputs(call, spec); !good) return good;
    if (const result<void> good = check_symbols(call, spec); !good) return good;
    if (const result<void> good = count_rows(call, spec); !good) return good;
    return take_outputs(call, spec);
}

}  // namespace asio_infer
