// What json_encoder says about the server and its models.
#include <cmath>
#include <string>

#include "response/encode_json.hpp"
#include "response/json_writer.hpp"
#include "response/model_facts.hpp"

namespace asio_infer {
namespace {

void append_tensor(json_writer& json, const tensor_spec& spec) {
    json.open('{').key("name").text(spec.name);
    json.key("datatype").text(name(spec.type));
    json.key("shape").numbers(listed_shape(spec));
    if (spec.optional) json.key("optional").flag(true);
    json.close('}');
}

/// Tensors that the protocol cannot carry are left out: clients ask for all that are listed.
void append_tensors(json_writer& json, std::string_view key, const std::vector<tensor_spec>& specs) {
    json.key(key).open('[');
    for (const tensor_spec& spec : specs)
        if (spec.unsupported.empty()) append_tensor(json, spec);
    json.close(']');
}

/// Triton's name of a type in a model's configuration.
std::string config_type(dtype type) { return type == dtype::bytes ? "TYPE_STRING" : "TYPE_" + std::string(name(type)); }

/// With a batch axis, a configuration's dims leave it out.
void append_config_tensors(json_writer& json, std::string_view key, const std::vector<tensor_spec>& specs,
                           bool batched) {
    json.key(key).open('[');
    for (const tensor_spec& spec : specs) {
        if (!spec.unsupported.empty()) continue;
        json.open('{').key("name").text(spec.name).key("data_type").text(config_type(spec.type));
        json.key("dims").numbers(config_dims(spec, batched));
        if (spec.optional) json.key("optional").flag(true);
        json.close('}');
    }
    json.close(']');
}

void append_batching(json_writer& json, const model_spec& spec) {
    if (!spec.batched()) return;
    json.key("dynamic_batching").open('{');
    json.key("max_queue_delay_microseconds").number(std::llround(spec.max_batch_delay_s * 1e6));
    json.key("default_queue_policy").open('{').key("max_queue_size").number(spec.max_queue_size).close('}');
    json.close('}');
}

void append_parameter(json_writer& json, std::string_view key, std::string_view value) {
    json.escaped_key(key).open('{').key("string_value").text(value).close('}');
}

void append_parameters(json_writer& json, const model_spec& spec) {
    json.key("parameters").open('{');
    for (const auto& [key, value] : config_parameters(spec)) append_parameter(json, key, value);
    json.close('}');
}

}  // namespace

void json_encoder::server_metadata(response_message& out) const {
    json_writer json(out.text);
    json.open('{').key("name").text("asio_infer").key("version").text(ASIO_INFER_VERSION);
    json.key("extensions").open('[');
    for (const std::string_view extension : protocol_extensions) json.text(extension);
    if (shared_memory_) json.text(shared_memory_extension);
    json.close(']').close('}');
}

void json_encoder::model_metadata(const served_model& model, std::span<const model_ptr> versions,
                                  response_message& out) const {
    const model_spec& spec = model.spec();
    json_writer json(out.text);
    json.open('{').key("name").text(spec.name).key("versions").open('[');
    for (const model_ptr& version : versions) json.text(std::to_string(version->spec().version));
    json.close(']').key("platform").text(spec.platform);
    append_tensors(json, "inputs", spec.inputs);
    append_tensors(json, "outputs", spec.outputs);
    json.close('}');
}

void json_encoder::model_config(const served_model& model, response_message& out) const {
    const model_spec& spec = model.spec();
    json_writer json(out.text);
    json.open('{').key("name").text(spec.name);
    json.key("platform").text(spec.platform).key("backend").text(spec.backend);
    json.key("version_policy").open('{').key("all").open('{').close('}').close('}');
    json.key("max_batch_size").number(spec.max_batch_rows);
    append_config_tensors(json, "input", spec.inputs, spec.batched());
    append_config_tensors(json, "output", spec.outputs, spec.batched());
    append_batching(json, spec);
    json.key("instance_group").open('[').open('{').key("name").text(spec.name);
    json.key("kind").text(on_gpu(spec) ? "KIND_GPU" : "KIND_CPU").key("count").number(spec.instances);
    json.close('}').close(']');
    append_parameters(json, spec);
    json.close('}');
}

void json_encoder::shared_memory_status(std::span<const shared_region> regions, response_message& out) const {
    json_writer json(out.text);
    json.open('[');
    for (const shared_region& region : regions) {
        json.open('{').key("name").text(region.name).key("key").text(region.key);
        json.key("offset").number(region.offset).key("byte_size").number(region.byte_size).close('}');
    }
    json.close(']');
}

void json_encoder::done(response_message& out) const { out.text += "{}"; }

void json_encoder::welcome(std::span<const model_ptr> models, response_message& out) const {
    out.content_type = "text/plain; charset=utf-8";
    out.text += "asio_infer " ASIO_INFER_VERSION ": models behind the Open Inference Protocol v2\n\n";
    for (const model_ptr& model : models) {
        const model_spec& spec = model->spec();
        out.text += "  " + printable(spec.name, 256) + "  version " + std::to_string(spec.version);
        out.text += model->ready() ? "\n" : "  (not ready)\n";
    }
    if (models.empty()) out.text += "  no model is registered\n";
    out.text +=
        "\n"
        "  GET  /v2                       this server, as JSON\n"
        "  GET  /v2/models/NAME           a model's inputs and outputs\n"
        "  POST /v2/models/NAME/infer     {\"inputs\":[{\"name\":...,\"shape\":[...],\"datatype\":...,"
        "\"data\":[...]}]}\n"
        "  GET  /v2/models/NAME/stats     what it has done; /v2/models/stats for all\n"
        "  GET  /v2/health/ready          200 when it takes requests\n"
        "  GET  /metrics                  for Prometheus\n";
}

}  // namespace asio_infer
