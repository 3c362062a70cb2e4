#include "request/infer_cost.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <string_view>

namespace asio_infer {

namespace {

/// Characters that one element takes when it is long, its comma included; for BYTES those around its bytes.
constexpr std::size_t characters_per_element(dtype type) noexcept {
    switch (type) {
        case dtype::boolean:
            return 6;
        case dtype::uint8:
        case dtype::int8:
            return 5;
        case dtype::uint16:
        case dtype::int16:
            return 7;
        case dtype::fp16:
        case dtype::bf16:
            return 10;
        case dtype::uint32:
        case dtype::int32:
            return 12;
        case dtype::fp32:
            return 14;
        case dtype::uint64:
        case dtype::int64:
            return 21;
        case dtype::fp64:
            return 24;
        case dtype::bytes:
            return 3;
    }
    return 0;
}

std::size_t text_bytes(const tensor& value) noexcept {
    if (value.type == dtype::bytes) return value.data.size();  // four bytes of length against quotes and comma
    return value.data.size() / element_size(value.type) * characters_per_element(value.type);
}

/// Adds up `measure` over the outputs that leave in the form asked for. Labels of classes are short: not counted.
template <class Measure>
std::size_t sum_outputs(const infer_call& call, bool binary, Measure measure) noexcept {
    if (call.outcome.has_error()) return 0;
    const std::size_t count = std::min(call.outcome->size(), call.outputs.size());
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const infer_call::bound_output& wanted = call.outputs[i];
        if (wanted.binary == binary && wanted.classification == 0 && shared_output(call, i) == nullptr)
            sum += measure((*call.outcome)[i]);
    }
    return sum;
}

}  // namespace

std::optional<std::size_t> announced_json_bytes(const request_message& request) noexcept {
    const std::string_view text = request.headers[header::inference_header_content_length];
    std::size_t length = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return length;
}

std::size_t json_bytes(const request_message& request) noexcept {
    return std::min(announced_json_bytes(request).value_or(request.body.size()), request.body.size());
}

std::size_t bytes_beside(const infer_request& request, const buffer& body) noexcept {
    const std::less<const std::byte*> before;
    std::size_t sum = 0;
    for (const named_tensor& input : request.inputs) {
        const std::byte* const data = input.value.data.data();
        const bool in_body = !before(data, body.data()) && before(data, body.data() + body.size());
        if (!in_body) sum += input.value.data.size();
    }
    return sum;
}

std::size_t expected_json_bytes(const infer_call& call) noexcept { return sum_outputs(call, false, text_bytes); }

std::size_t binary_bytes(const infer_call& call) noexcept {
    return sum_outputs(call, true, [](const tensor& value) { return value.data.size(); });
}

time_point deadline_after(time_point arrived, std::uint64_t timeout_us) noexcept {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(no_deadline - arrived);
    if (timeout_us == 0 || timeout_us >= static_cast<std::uint64_t>(left.count())) return no_deadline;
    return arrived + std::chrono::microseconds(timeout_us);
}

}  // namespace asio_infer
