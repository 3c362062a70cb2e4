// What protobuf_encoder says about the server and its models.
#include <cmath>
#include <string>

#include "response/encode_protobuf.hpp"
#include "response/model_facts.hpp"
#include "response/protobuf_writer.hpp"

namespace asio_infer {
namespace {

using protozero::pbf_writer;

/// The number of a type in the configuration's enum DataType.
constexpr std::int32_t config_type(dtype type) noexcept {
    switch (type) {
        case dtype::boolean:
            return 1;
        case dtype::uint8:
            return 2;
        case dtype::uint16:
            return 3;
        case dtype::uint32:
            return 4;
        case dtype::uint64:
            return 5;
        case dtype::int8:
            return 6;
        case dtype::int16:
            return 7;
        case dtype::int32:
            return 8;
        case dtype::int64:
            return 9;
        case dtype::fp16:
            return 10;
        case dtype::fp32:
            return 11;
        case dtype::fp64:
            return 12;
        case dtype::bytes:
            return 13;
        case dtype::bf16:
            return 14;
    }
    return 0;
}

void append_tensors(pbf_writer& to, protozero::pbf_tag_type field, const std::vector<tensor_spec>& specs) {
    for (const tensor_spec& spec : specs) {
        if (!spec.unsupported.empty()) continue;
        pbf_writer tensor(to, field);
        add_text(tensor, 1, spec.name);
        add_text(tensor, 2, name(spec.type));
        const shape dims = listed_shape(spec);
        tensor.add_packed_int64(3, dims.begin(), dims.end());
    }
}

/// `dims_field` and `optional_field` differ between ModelInput and ModelOutput, which has no such thing as optional.
void append_config_tensors(pbf_writer& to, protozero::pbf_tag_type field, const std::vector<tensor_spec>& specs,
                           bool batched, protozero::pbf_tag_type dims_field) {
    constexpr protozero::pbf_tag_type optional_field = 8;
    for (const tensor_spec& spec : specs) {
        if (!spec.unsupported.empty()) continue;
        pbf_writer tensor(to, field);
        add_text(tensor, 1, spec.name);
        tensor.add_enum(2, config_type(spec.type));
        const shape dims = config_dims(spec, batched);
        tensor.add_packed_int64(dims_field, dims.begin(), dims.end());
        if (spec.optional) tensor.add_bool(optional_field, true);
    }
}

void append_batching(pbf_writer& to, const model_spec& spec) {
    if (!spec.batched()) return;
    pbf_writer batching(to, 11);
    if (const auto delay = static_cast<std::uint64_t>(std::llround(spec.max_batch_delay_s * 1e6)); delay > 0)
        batching.add_uint64(2, delay);
    pbf_writer(batching, 6).add_uint32(4, spec.max_queue_size);
}

void append_parameters(pbf_writer& to, const model_spec& spec) {
    for (const auto& [key, value] : config_parameters(spec)) {
        pbf_writer entry(to, 14);
        add_text(entry, 1, key);
        pbf_writer parameter(entry, 2);
        add_text(parameter, 1, value);
    }
}

}  // namespace

void protobuf_encoder::server_metadata(response_message& out) const {
    out.content_type = grpc_content_type;
    pbf_writer message(out.text);
    add_text(message, 1, "asio_infer");
    add_text(message, 2, ASIO_INFER_VERSION);
    for (const std::string_view extension : protocol_extensions) add_text(message, 3, extension);
    if (shared_memory_) add_text(message, 3, shared_memory_extension);
}

void protobuf_encoder::model_metadata(const served_model& model, std::span<const model_ptr> versions,
                                      response_message& out) const {
    out.content_type = grpc_content_type;
    const model_spec& spec = model.spec();
    pbf_writer message(out.text);
    add_text(message, 1, spec.name);
    for (const model_ptr& version : versions) add_text(message, 2, std::to_string(version->spec().version));
    add_text(message, 3, spec.platform);
    append_tensors(message, 4, spec.inputs);
    append_tensors(message, 5, spec.outputs);
}

void protobuf_encoder::model_config(const served_model& model, response_message& out) const {
    constexpr std::int32_t kind_gpu = 1;
    constexpr std::int32_t kind_cpu = 2;
    out.content_type = grpc_content_type;
    const model_spec& spec = model.spec();
    pbf_writer response(out.text);
    pbf_writer config(response, 1);
    add_text(config, 1, spec.name);
    add_text(config, 2, spec.platform);
    add_text(config, 17, spec.backend);
    {
        pbf_writer policy(config, 3);
        policy.add_message(2, std::string());  // all
    }
    if (spec.max_batch_rows > 0) config.add_int32(4, static_cast<std::int32_t>(spec.max_batch_rows));
    append_config_tensors(config, 5, spec.inputs, spec.batched(), 4);
    append_config_tensors(config, 6, spec.outputs, spec.batched(), 3);
    append_batching(config, spec);
    {
        pbf_writer group(config, 7);
        add_text(group, 1, spec.name);
        group.add_enum(4, on_gpu(spec) ? kind_gpu : kind_cpu);
        group.add_int32(2, static_cast<std::int32_t>(spec.instances));
    }
    append_parameters(config, spec);
}

void protobuf_encoder::shared_memory_status(std::span<const shared_region> regions, response_message& out) const {
    out.content_type = grpc_content_type;
    pbf_writer message(out.text);
    for (const shared_region& region : regions) {
        pbf_writer entry(message, 1);
        add_text(entry, 1, region.name);
        pbf_writer status(entry, 2);
        add_text(status, 1, region.name);
        add_text(status, 2, region.key);
        status.add_uint64(3, region.offset);
        status.add_uint64(4, region.byte_size);
    }
}

void protobuf_encoder::done(response_message& out) const { out.content_type = grpc_content_type; }

}  // namespace asio_infer
