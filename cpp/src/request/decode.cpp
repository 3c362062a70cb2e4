#include "request/decode.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "request/decode_binary.hpp"
#include "request/in_quotes.hpp"
#include "request/json_request.hpp"

namespace asio_infer {
namespace {

error refuse_length(const std::string& what) {
    return {errc::invalid_request, "Inference-Header-Content-Length: " + what};
}

/// How many bytes of the body are JSON.
result<std::size_t> json_size(const request_message& message) {
    const std::size_t count = message.headers.count(header::inference_header_content_length);
    if (count == 0) return message.body.size();
    if (count > 1) return refuse_length("the header repeats");
    const std::string_view text = message.headers[header::inference_header_content_length];
    if (text.empty() || text.find_first_not_of("0123456789") != text.npos)
        return refuse_length(in_quotes(text) + " is not a number of bytes");
    std::size_t size = 0;
    const auto outcome = std::from_chars(text.data(), text.data() + text.size(), size);
    if (outcome.ec != std::errc{} || size > message.body.size())
        return refuse_length(printable(text, 40) + " is more than the " + std::to_string(message.body.size()) +
                             " bytes of the body");
    return size;
}

const named_tensor* first_binary(const json_request& parsed) noexcept {
    for (std::size_t i = 0; i < parsed.binary_sizes.size(); ++i)
        if (parsed.binary_sizes[i]) return &parsed.request.inputs[i];
    return nullptr;
}

}  // namespace

result<infer_request> decode_infer(const request_message& message, const limits& bounds) {
    const result<std::size_t> size = json_size(message);
    if (!size) return size.error();
    const std::string_view text{reinterpret_cast<const char*>(message.body.data()), *size};
    result<json_request> parsed = read_json_request(text, bounds);
    if (!parsed) return parsed.error();
    if (message.headers.count(header::inference_header_content_length) == 0) {
        if (const named_tensor* input = first_binary(*parsed))
            return error{errc::invalid_request, "input " + in_quotes(input->name) +
                                                    ": has a binary_data_size, but the header "
                                                    "Inference-Header-Content-Length is missing"};
        return std::move(parsed->request);
    }
    const buffer section = message.body.slice(*size, message.body.size() - *size);
    if (const result<void> good = attach_binary(*parsed, section); !good) return good.error();
    return std::move(parsed->request);
}

}  // namespace asio_infer
