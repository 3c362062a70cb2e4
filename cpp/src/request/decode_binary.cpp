#include "request/decode_binary.hpp"

#include <string>

#include "request/binary_tensor.hpp"
#include "request/in_quotes.hpp"

namespace asio_infer {
namespace {

error refuse(const named_tensor& input, const std::string& what) {
    return {errc::invalid_request, "input " + in_quotes(input.name) + ": " + what};
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
        if (const result<void> good = check_binary_tensor(input, "binary_data_size is"); !good) return good;
    }
    if (offset != section.size())
        return error{errc::invalid_request, std::to_string(section.size() - offset) +
                                                " bytes of the body belong to no input's binary_data_size"};
    return {};
}

}  // namespace asio_infer
