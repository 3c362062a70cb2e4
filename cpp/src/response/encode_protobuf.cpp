#include "response/encode_protobuf.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/escape.hpp"
#include "core/status_table.hpp"
#include "response/classification.hpp"
#include "response/protobuf_writer.hpp"

namespace asio_infer {
namespace {

using protozero::pbf_wire_type;
using protozero::pbf_writer;

/// Raw contents up to this are copied behind the rest of the message: cheaper than an entry of their own.
constexpr std::size_t copy_limit = 4 * 1024;
constexpr std::uint32_t raw_output_contents = 6;
constexpr std::uint32_t stream_response = 2;

buffer to_buffer(std::string_view bytes) {
    unique_buffer memory(bytes.size());
    std::memcpy(memory.data(), bytes.data(), bytes.size());
    return std::move(memory).share();
}

/// A field's tag and length.
std::string field_head(std::uint32_t number, std::size_t size) {
    std::string head;
    protozero::add_varint_to_buffer(&head, number << 3U | static_cast<std::uint32_t>(pbf_wire_type::length_delimited));
    protozero::add_varint_to_buffer(&head, size);
    return head;
}

void append_raw(const buffer& data, response_message& out) {
    std::string head = field_head(raw_output_contents, data.size());
    const bool copied = data.size() <= copy_limit;
    if (copied) head.append(reinterpret_cast<const char*>(data.data()), data.size());
    if (out.parts.empty())
        out.text += head;
    else
        out.parts.push_back(to_buffer(head));
    if (!copied) out.parts.push_back(data);
}

/// The outputs as they leave: classified ones are made here.
result<std::vector<tensor>> outputs_of(const infer_call& call) {
    const model_spec& spec = call.model->spec();
    std::vector<tensor> values;
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        const infer_call::bound_output& wanted = call.outputs[i];
        const tensor& value = (*call.outcome)[i];
        if (wanted.classification == 0) {
            values.push_back(value);
            continue;
        }
        result<tensor> top = classify(value, wanted.classification, spec.batched());
        if (top.has_error())
            return error{errc::invalid_request,
                         "output '" + printable(spec.outputs[wanted.index].name) + "': " + top.error().message};
        values.push_back(std::move(*top));
    }
    return values;
}

/// A parameter of an output: a text or a number.
void append_parameter(pbf_writer& output, std::string_view key, std::string_view text, std::uint64_t number) {
    pbf_writer entry(output, 4);
    add_text(entry, 1, key);
    pbf_writer value(entry, 2);
    if (!text.empty())
        value.add_bytes(3, text.data(), text.size());
    else
        value.add_int64(2, static_cast<std::int64_t>(number));
}

void append_output(pbf_writer& to, std::string_view name, const tensor& value, const shared_memory_ref* shared) {
    pbf_writer output(to, 5);
    add_text(output, 1, name);
    add_text(output, 2, asio_infer::name(value.type));
    output.add_packed_int64(3, value.shape.begin(), value.shape.end());
    if (shared == nullptr) return;
    append_parameter(output, "shared_memory_region", shared->region, 0);
    append_parameter(output, "shared_memory_byte_size", {}, value.data.size());
    if (shared->offset > 0) append_parameter(output, "shared_memory_offset", {}, shared->offset);
}

}  // namespace

void protobuf_encoder::infer(const infer_call& call, response_message& out) const {
    if (call.outcome.has_error()) return failure(call.outcome.error(), out);
    const result<std::vector<tensor>> values = outputs_of(call);
    if (values.has_error()) return failure(values.error(), out);
    out.content_type = grpc_content_type;
    const model_spec& spec = call.model->spec();
    pbf_writer message(out.text);
    add_text(message, 1, spec.name);
    add_text(message, 2, std::to_string(spec.version));
    add_text(message, 3, call.request.id);
    for (std::size_t i = 0; i < values->size(); ++i)
        append_output(message, spec.outputs[call.outputs[i].index].name, (*values)[i], shared_output(call, i));
    // Clients find an output's contents by its position: one that is in shared memory has an empty entry.
    for (std::size_t i = 0; i < values->size(); ++i)
        append_raw(shared_output(call, i) != nullptr ? buffer() : (*values)[i].data, out);
}

void protobuf_encoder::failure(const error& e, response_message& out) const {
    const status_row& row = status_of(e.code);
    out.status = row.http;
    out.content_type = grpc_content_type;
    out.retry_after_s = row.retry_after ? std::max(e.retry_after_s, 1U) : 0;
    out.grpc_status = row.grpc;
    out.grpc_message = e.message;
}

/// A ModelStreamInferResponse: the inference's response, or why there is none.
void protobuf_encoder::stream_item(std::string_view id, response_message& out) const {
    if (out.grpc_status == 0) {
        out.text.insert(0, field_head(stream_response, out.body_size()));
        return;
    }
    out.text.clear();
    out.parts.clear();
    pbf_writer item(out.text);
    add_text(item, 1, out.grpc_message);
    pbf_writer response(item, stream_response);
    add_text(response, 3, id);
}

void protobuf_encoder::live(response_message& out) const {
    out.content_type = grpc_content_type;
    pbf_writer(out.text).add_bool(1, true);
}

void protobuf_encoder::ready(bool ready, response_message& out) const {
    out.content_type = grpc_content_type;
    if (ready) pbf_writer(out.text).add_bool(1, true);
}

void protobuf_encoder::model_ready(std::string_view, bool is_ready, response_message& out) const {
    ready(is_ready, out);
}

}  // namespace asio_infer
