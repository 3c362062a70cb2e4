#include "request/binary_tensor.hpp"

#include <algorithm>
#include <limits>
#include <optional>
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

}  // namespace

result<void> check_binary_tensor(const named_tensor& input, std::string_view size_is) {
    const tensor& value = input.value;
    const std::size_t elements = element_count(value.shape).value_or(0);
    if (value.type == dtype::bytes) return check_strings(input, elements);
    const std::size_t needed = elements * element_size(value.type);
    if (value.data.size() != needed)
        return refuse(input, std::string(size_is) + ' ' + std::to_string(value.data.size()) + " where " +
                                 std::string(name(value.type)) + ' ' + to_string(value.shape) + " takes " +
                                 std::to_string(needed) + " bytes");
    return value.type == dtype::boolean ? check_booleans(input) : result<void>{};
}

bool fits_memory(const tensor& value) noexcept {
    constexpr auto most_bytes = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    const std::optional<std::size_t> elements = element_count(value.shape);
    return elements && *elements <= most_bytes / std::max<std::size_t>(element_size(value.type), 1);
}

}  // namespace asio_infer
