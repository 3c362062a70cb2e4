#include "fuzz/support/decode_rules.hpp"
#include "unit/request/decode_helpers.hpp"

// The input is the body of an inference request without a binary section.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace asio_infer;
    const std::string json(reinterpret_cast<const char*>(data), size);
    const fuzz::decoded outcome = fuzz::decode_by_the_rules(test::message(json), size);
    if (outcome.request) {
        fuzz::demand(fuzz::json_depth(json) <= limits{}.max_json_depth, "a request nested too deep is refused");
        fuzz::demand(outcome.bytes_in_body == 0, "without the header no tensor is a part of the body");
    }
    return 0;
}
