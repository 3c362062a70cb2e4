#include "fuzz/support/decode_rules.hpp"

#include <algorithm>

#include "core/bytes_elements.hpp"
#include "core/escape.hpp"
#include "fuzz/support/memory_meter.hpp"
#include "request/decode.hpp"

namespace asio_infer::fuzz {
namespace {

/// The dearest byte is one of a short parameter ("a":1,): six of them become an entry of 72 bytes, in a vector that
/// doubles. Measured: more than 20, not more than 24. Data take less: above 8 for "1," as INT64 before its shape.
constexpr std::size_t memory_per_byte = 24;
constexpr std::size_t memory_for_any = std::size_t{16} << 10;

constexpr std::size_t longest_message = 4096;

void check_refusal(const error& e) {
    demand(e.code == errc::invalid_request, "a refusal is the client's fault");
    demand(!e.message.empty() && e.message.size() <= longest_message, "a refusal says what is wrong, briefly");
    demand(is_utf8(e.message), "a refusal is UTF-8");
    demand(std::none_of(e.message.begin(), e.message.end(), [](char c) { return c >= 0 && c < ' '; }),
           "a refusal has no control characters");
}

void check_booleans(const tensor& t) {
    const auto bytes = t.data.bytes();
    demand(std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; }), "a BOOL is 0 or 1");
}

void check_tensor(const tensor& t, const limits& bounds) {
    demand(t.shape.size() <= bounds.max_rank, "the rank is within its limit");
    const std::optional<std::size_t> elements = element_count(t.shape);
    demand(elements.has_value(), "the shape has an element count");
    if (t.type == dtype::bytes)
        demand(count_bytes_elements(t.data.bytes()) == elements, "there are as many strings as the shape says");
    else
        demand(t.data.size() == *elements * element_size(t.type), "the data are as long as shape and type say");
    if (t.type == dtype::boolean) check_booleans(t);
    demand(t.data.data() != nullptr, "also an empty tensor has an address");
}

void check_counts(const infer_request& r, const limits& bounds) {
    demand(r.inputs.size() <= bounds.max_tensors && r.outputs.size() <= bounds.max_tensors,
           "the number of tensors is within its limit");
    demand(r.parameters.size() <= bounds.max_parameters, "the number of parameters is within its limit");
    for (const named_tensor& input : r.inputs)
        demand(input.parameters.size() <= bounds.max_parameters, "so it is for an input");
    for (const requested_output& output : r.outputs)
        demand(output.parameters.size() <= bounds.max_parameters, "so it is for an output");
}

/// The bytes of all inputs that lie in the body.
std::size_t check_places(const infer_request& r, std::span<const std::byte> body, std::size_t section_start) {
    const std::byte* next = body.data() + section_start;
    const std::byte* const end = body.data() + body.size();
    std::size_t bytes = 0;
    for (const named_tensor& input : r.inputs) {
        const buffer& data = input.value.data;
        if (data.data() < body.data() || data.data() > end || body.empty()) continue;
        demand(data.data() == next, "binary tensors follow each other");
        demand(data.size() <= static_cast<std::size_t>(end - next), "a binary tensor ends inside the body");
        next += data.size();
        bytes += data.size();
    }
    return bytes;
}

}  // namespace

decoded decode_by_the_rules(const request_message& message, std::size_t section_start) {
    const limits bounds;
    const memory_meter meter;
    result<infer_request> outcome = decode_infer(message, bounds);
    demand(meter.peak_bytes() <= memory_per_byte * message.body.size() + memory_for_any,
           "memory is in proportion to the request");
    if (!outcome) {
        check_refusal(outcome.error());
        return {};
    }
    check_counts(*outcome, bounds);
    for (const named_tensor& input : outcome->inputs) check_tensor(input.value, bounds);
    const std::size_t in_body = check_places(*outcome, message.body.bytes(), section_start);
    return {std::move(*outcome), in_body};
}

std::size_t json_depth(std::string_view json) noexcept {
    std::size_t depth = 0;
    std::size_t deepest = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (in_string) {
            if (c == '\\') ++i;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            deepest = std::max(deepest, ++depth);
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return deepest;
}

}  // namespace asio_infer::fuzz
