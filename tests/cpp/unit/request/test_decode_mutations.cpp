#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/bytes_elements.hpp"
#include "unit/request/decode_helpers.hpp"

using namespace asio_infer;
using namespace asio_infer::test;

namespace {

const std::vector<std::string> good_requests{
    R"({"id":"x","parameters":{"timeout":5,"a":1.5,"b":true,"c":"\u00e9\n"},"inputs":[{"name":"A","shape":[2,2],)"
    R"("datatype":"FP32","data":[[1,2.5],[3e2,-0.0]]},{"data":["a","b\u0000"],"name":"S","shape":[2],)"
    R"("datatype":"BYTES"}],"outputs":[{"name":"Y","parameters":{"binary_data":true,"classification":2}}]})",
    R"({"inputs":[{"name":"S","shape":[3],"datatype":"BYTES","parameters":{"binary_data_size":17}},{"name":"A",)"
    R"("shape":[1,4],"datatype":"FP32","parameters":{"binary_data_size":16}}],"parameters":{"binary_data_output":true}})",
    R"({"inputs":[{"data":[[1,2],[3,4]],"name":"A","shape":[2,2],"datatype":"FP16"},{"data":[true,false],"name":"B",)"
    R"("shape":[2.0],"datatype":"BOOL"},{"name":"C","shape":[],"datatype":"INT64","data":9007199254740993}],)"
    R"("x":{"y":[1,{"z":null}]}})"};

const std::vector<std::string> tokens{"[",
                                      "]",
                                      "{",
                                      "}",
                                      ",",
                                      ":",
                                      "\"",
                                      "1e39",
                                      "-1",
                                      "0",
                                      "null",
                                      "true",
                                      "\"data\"",
                                      "\"shape\"",
                                      "\"name\"",
                                      "\"BYTES\"",
                                      "\"INT8\"",
                                      "{\"a\":1}",
                                      "1e2",
                                      "-0",
                                      "1e-400",
                                      "65520",
                                      "4294967296",
                                      "\\u0000",
                                      "\\ud800",
                                      "\xff",
                                      "\"datatype\"",
                                      "18446744073709551616",
                                      "1.00048828125000001",
                                      "\"binary_data_size\"",
                                      "\"parameters\"",
                                      "\"inputs\"",
                                      "\"outputs\""};

/// Changes a text at random places, with a fondness for what means something in it.
class mutator {
public:
    std::uint64_t pick(std::size_t choices) { return random_() % choices; }
    void mutate(std::string& text) {
        const std::size_t at = pick(text.size() + 1);
        switch (pick(5)) {
            case 0:
                text.insert(at, tokens[pick(tokens.size())]);
                break;
            case 1:
                if (at < text.size()) text[at] = static_cast<char>(pick(256));
                break;
            case 2:
                text.erase(at, pick(8));
                break;
            case 3:
                text.insert(at, text.substr(pick(text.size() + 1), pick(30)));
                break;
            default:
                if (const std::size_t digit = text.find_first_of("0123456789", at); digit != text.npos)
                    text.replace(digit, 1, tokens[pick(tokens.size())]);
        }
    }

private:
    std::mt19937_64 random_{20240229};
};

/// The bytes for the binary one of the good requests: three strings and four floats.
std::string binary_section() {
    const std::string strings("\2\0\0\0ab\0\0\0\0\3\0\0\0xyz", 17);
    return strings + std::string(16, '\1');
}

bool fills_its_shape(const tensor& value) {
    const std::optional<std::size_t> elements = element_count(value.shape);
    if (!elements) return false;
    if (value.type == dtype::bytes) return count_bytes_elements(value.data.bytes()) == *elements;
    return value.data.size() == *elements * element_size(value.type);
}

}  // namespace

TEST_CASE("decode: whatever is done to a request, it is refused in words or its tensors fill their shapes") {
    mutator random;
    const std::string binary = binary_section();
    int accepted = 0;
    int wrong = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string json = good_requests[random.pick(good_requests.size())];
        for (std::uint64_t n = random.pick(4); n > 0; --n) random.mutate(json);
        const request_message m = random.pick(3) == 0 ? message(json) : binary_message(json, binary);
        const result<infer_request> decoded = decode_infer(m, limits{});
        if (decoded.has_error()) {
            const error& e = decoded.error();
            wrong += e.code != errc::invalid_request || e.message.empty() || e.message.size() > 1000;
            continue;
        }
        ++accepted;
        for (const named_tensor& input : decoded->inputs) wrong += !fills_its_shape(input.value);
    }
    CHECK(wrong == 0);
    CHECK(accepted > 1'000);
    CHECK(accepted < 19'000);
}
