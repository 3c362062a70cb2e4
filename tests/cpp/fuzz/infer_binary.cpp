#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/support/decode_rules.hpp"
#include "unit/request/decode_helpers.hpp"

namespace {

using namespace asio_infer;

/// The first byte says how Inference-Header-Content-Length comes about:
enum class length_form : std::uint8_t {
    number,  ///< two bytes, low one first, which the fuzzer counts up and down more easily than digits
    text,    ///< a line, as it is
    twice,   ///< a line, and the header once more
    count
};

struct binary_input {
    std::string length;
    bool twice = false;
    std::string_view body;
};

binary_input take_apart(std::string_view bytes) {
    if (bytes.empty()) return {"0", false, {}};
    const auto form =
        static_cast<length_form>(static_cast<std::uint8_t>(bytes[0]) % static_cast<std::uint8_t>(length_form::count));
    bytes.remove_prefix(1);
    if (form == length_form::number) {
        if (bytes.size() < 2) return {"0", false, {}};
        const auto low = static_cast<std::uint8_t>(bytes[0]);
        const auto high = static_cast<std::uint8_t>(bytes[1]);
        return {std::to_string(low + 256U * high), false, bytes.substr(2)};
    }
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    return {std::string(bytes.substr(0, end)), form == length_form::twice,
            bytes.substr(std::min(end + 1, bytes.size()))};
}

/// The length that the decoder must read, or nothing if it must refuse.
std::optional<std::size_t> plain_length(const binary_input& input) {
    std::size_t size = 0;
    const char* const end = input.length.data() + input.length.size();
    const auto [stop, failure] = std::from_chars(input.length.data(), end, size);
    if (input.twice || failure != std::errc{} || stop != end || size > input.body.size()) return std::nullopt;
    return size;
}

}  // namespace

// The input is a length and the body of an inference request with a binary section.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const binary_input input = take_apart({reinterpret_cast<const char*>(data), size});
    const std::optional<std::size_t> json = plain_length(input);
    const std::size_t cut = json.value_or(0);
    request_message message = test::message(input.body.substr(0, cut), input.body.substr(cut));
    message.headers.add(header::inference_header_content_length, input.length);
    if (input.twice) message.headers.add(header::inference_header_content_length, input.length);

    const fuzz::decoded outcome = fuzz::decode_by_the_rules(message, cut);
    if (!outcome.request) return 0;
    fuzz::demand(json.has_value(), "a length that is no plain number within the body is refused");
    fuzz::demand(outcome.bytes_in_body == input.body.size() - cut, "the binary tensors fill their section");
    return 0;
}
