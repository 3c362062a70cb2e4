#include "request/shared_memory/transfer.hpp"

#include <limits>
#include <string>
#include <utility>

#include "request/binary_tensor.hpp"
#include "request/in_quotes.hpp"

namespace asio_infer {

namespace {

constexpr const char* not_offered =
    "parameters.shared_memory_region: asks for shared memory, which this server does not offer";

error about(const char* kind, std::string_view name, const std::string& what) {
    return {errc::invalid_request, kind + (' ' + in_quotes(name)) + ": " + what};
}

result<void> read_input(named_tensor& input, const shared_memory_registry& registry) {
    const shared_memory_ref& from = *input.shared;
    const std::size_t width = element_size(input.value.type);
    const std::size_t needed = element_count(input.value.shape).value_or(0) * width;
    if (width > 0 && from.byte_size != needed)
        return about("input", input.name,
                     "shared_memory_byte_size is " + std::to_string(from.byte_size) + " where " +
                         std::string(name(input.value.type)) + ' ' + to_string(input.value.shape) + " takes " +
                         std::to_string(needed) + " bytes");
    unique_buffer memory(static_cast<std::size_t>(from.byte_size));
    if (const result<void> read = registry.read(from, memory.bytes()); read.has_error())
        return about("input", input.name, read.error().message);
    input.value.data = std::move(memory).share();
    return check_binary_tensor(input, "shared_memory_byte_size is");
}

}  // namespace

std::size_t shared_input_bytes(const infer_request& request) noexcept {
    std::size_t sum = 0;
    for (const named_tensor& input : request.inputs) {
        if (!input.shared) continue;
        if (input.shared->byte_size > std::numeric_limits<std::size_t>::max() - sum)
            return std::numeric_limits<std::size_t>::max();
        sum += input.shared->byte_size;
    }
    return sum;
}

std::size_t shared_output_bytes(const infer_call& call) noexcept {
    if (call.outcome.has_error()) return 0;
    std::size_t sum = 0;
    for (std::size_t i = 0; i < call.outputs.size(); ++i)
        if (shared_output(call, i) != nullptr) sum += (*call.outcome)[i].data.size();
    return sum;
}

result<void> read_shared_inputs(infer_request& request, const shared_memory_registry* registry) {
    for (named_tensor& input : request.inputs) {
        if (!input.shared) continue;
        if (registry == nullptr) return about("input", input.name, not_offered);
        if (const result<void> read = read_input(input, *registry); read.has_error()) return read;
    }
    if (registry != nullptr) return {};
    for (const requested_output& output : request.outputs)
        if (output.shared) return about("output", output.name, not_offered);
    return {};
}

result<void> write_shared_outputs(const infer_call& call, const shared_memory_registry* registry) {
    if (call.outcome.has_error() || registry == nullptr) return {};
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        const shared_memory_ref* const to = shared_output(call, i);
        if (to == nullptr) continue;
        const std::string& output = call.request.outputs[i].name;
        const buffer& bytes = (*call.outcome)[i].data;
        if (call.outputs[i].classification > 0)
            return about("output", output, "a classification cannot go to shared memory");
        if (bytes.size() > to->byte_size)
            return about("output", output,
                         "has " + std::to_string(bytes.size()) + " bytes; shared_memory_byte_size is " +
                             std::to_string(to->byte_size));
        if (const result<void> written = registry->write(*to, bytes.bytes()); written.has_error())
            return about("output", output, written.error().message);
    }
    return {};
}

}  // namespace asio_infer
