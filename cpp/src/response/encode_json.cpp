#include "response/encode_json.hpp"

#include <algorithm>
#include <string>

#include "core/status_table.hpp"
#include "response/classification.hpp"
#include "response/json_tensor.hpp"
#include "response/json_writer.hpp"

namespace asio_infer {
namespace {

void set_readiness(bool ready, response_message& out) {
    if (ready) return;
    out.status = status_of(errc::unavailable).http;
    out.retry_after_s = 1;
}

/// Appends one output to the JSON, and its bytes to the parts if it is binary. Returns "" or why JSON cannot carry it.
std::string append_output(json_writer& json, std::string_view name, const tensor& value, bool binary,
                          const shared_memory_ref* shared, response_message& out) {
    json.open('{').key("name").text(name);
    json.key("shape").numbers(value.shape);
    json.key("datatype").text(asio_infer::name(value.type));
    std::string fault;
    if (shared != nullptr) {
        json.key("parameters").open('{').key("shared_memory_region").text(shared->region);
        json.key("shared_memory_byte_size").number(value.data.size());
        if (shared->offset > 0) json.key("shared_memory_offset").number(shared->offset);
        json.close('}');
    } else if (binary) {
        json.key("parameters").open('{').key("binary_data_size").number(value.data.size()).close('}');
        if (value.data.size() > 0) out.parts.push_back(value.data);
    } else {
        json.key("data");
        fault = append_json_data(out.text, value);
    }
    json.close('}');
    return fault;
}

error refuse(std::string_view output, const std::string& what) {
    return {errc::invalid_request, "output '" + printable(output) + "': " + what};
}

std::string only_binary(const std::string& fault) {
    return fault + ", which JSON cannot carry; ask for it with the output parameter \"binary_data\": true";
}

/// Appends all outputs. `any_binary` tells whether one is.
result<void> append_outputs(json_writer& json, const infer_call& call, response_message& out, bool& any_binary) {
    const model_spec& spec = call.model->spec();
    const std::vector<tensor>& values = *call.outcome;
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        const infer_call::bound_output& wanted = call.outputs[i];
        const std::string& name = spec.outputs[wanted.index].name;
        std::string fault;
        if (wanted.classification > 0) {
            const result<tensor> top = classify(values[i], wanted.classification, spec.batched());
            if (!top) return refuse(name, top.error().message);
            fault = append_output(json, name, *top, wanted.binary, nullptr, out);
        } else {
            fault = append_output(json, name, values[i], wanted.binary, shared_output(call, i), out);
        }
        if (!fault.empty()) return refuse(name, only_binary(fault));
        any_binary = any_binary || (wanted.binary && shared_output(call, i) == nullptr);
    }
    return {};
}

}  // namespace

void json_encoder::infer(const infer_call& call, response_message& out) const {
    if (call.outcome.has_error()) return failure(call.outcome.error(), out);
    const model_spec& spec = call.model->spec();
    json_writer json(out.text);
    json.open('{').key("model_name").text(spec.name);
    json.key("model_version");
    out.text += '"';
    char version[24];
    out.text.append(version, std::to_chars(version, version + sizeof version, spec.version).ptr) += '"';
    if (!call.request.id.empty()) json.key("id").text(call.request.id);
    json.key("outputs").open('[');
    bool any_binary = false;
    const result<void> complete = append_outputs(json, call, out, any_binary);
    json.close(']').close('}');
    if (!complete) {
        out.text.clear();
        out.parts.clear();
        return failure(complete.error(), out);
    }
    if (any_binary) {
        out.content_type = "application/octet-stream";
        out.json_length = out.text.size();
    }
}

void json_encoder::failure(const error& e, response_message& out) const {
    const status_row& row = status_of(e.code);
    out.status = row.http;
    out.challenge = e.code == errc::unauthenticated;
    out.retry_after_s = row.retry_after ? std::max(e.retry_after_s, 1U) : 0;
    json_writer(out.text).open('{').key("error").text(e.message).close('}');
}

void json_encoder::live(response_message& out) const { out.text += R"({"live":true})"; }

void json_encoder::ready(bool ready, response_message& out) const {
    set_readiness(ready, out);
    json_writer(out.text).open('{').key("ready").flag(ready).key("live").flag(true).close('}');
}

void json_encoder::model_ready(std::string_view name, bool ready, response_message& out) const {
    set_readiness(ready, out);
    json_writer(out.text).open('{').key("name").text(name).key("ready").flag(ready).close('}');
}

}  // namespace asio_infer
