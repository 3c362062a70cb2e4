#include "request/decode_binary.hpp"

#include <algorithm>
#include <string>

#include "core/bytes_elements.hpp"
#include "request/in_quotes.hpp"

namespace asio_infer {
namespace {

error refuse(const named_tensor& input, const std::string& what) {
    return {errc::invalid_request, "input " + in_quotes(input.name) + ": " + what};
}

result<void> check_strings(const named_tensor& input, std::size_t elements) {
    const std::optional<std::size_t> count = count_bytes_elements(input.value.data.bytes());
    if (!count) return refuse(input, "the lengths of its strings do not add up to its binary data");
    if (*count != elements)
        return refuse(input, "its binary data holds " + std::to_string(*count) + " strings where shape " +
                                 to_string(input.value.shape) + " takes " + std::to_string(elements));
    return {};
}

result<void> check_booleans(const named_tensor& input) {
    const std::span<const std::byte> bytes = input.value.data.bytes();
    if (std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; }))
        return refuse(input, "a BOOL in its binary data is neither 0 nor 1");
    return {};
}

/// Precondition: the shape's element and byte counts fit, which the JSON reader has checked.
result<void> check(const named_tensor& input) {
    const tensor& value = input.value;
    const std::size_t elements = element_count(value.shape).value_or(0);
    if (value.type == dtype::bytes) return check_strings(input, elements);
    const std::size_t needed = elements * element_size(value.type);
    if (value.data.size() != needed)
        return refuse(input, "binary_data_size is " + std::to_string(value.data.size()) + " where " +
                                 std::string(name(value.type)) + ' ' + to_string(value.shape) + " takes " +
                                 std::to_string(needed) + " bytes");
    return value.type == dtype::boolean ? check_booleans(input) : result<void>{};
}

}  // namespace

result<void> attach_binary(json_request& parsed, const buffer& section) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < parsed.binary_sizes.size(); ++i) {
        const std::optional<std::uint64_t> size = parsed.binary_sizes[i];
        if (!size) continue;
        named_tensor& input = parsed.request.inputs[i];
        if (*size > section.size() - offset)
            return refuse(input, "binary_data_size is " + std::to_string(*size) + " but the body has only " +
                                     std::to_string(section.size() - offset) + " bytes left");
        input.value.data = section.slice(offset, *size);
        offset += *size;
        if (const result<void> good = check(input); !good) return good;
    }
    if (offset != section.size())
        return error{errc::invalid_request, std::to_string(section.size() - offset) +
                                                " bytes of the body belong to no input's binary_data_size"};
    return {};
}

}  // namespace asio_infer
