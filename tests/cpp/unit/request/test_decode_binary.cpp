#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "unit/request/decode_helpers.hpp"

using namespace asio_infer;
using namespace asio_infer::test;

namespace {

std::string floats(const std::vector<float>& v) {
    return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)};
}

std::string input(std::string_view name, std::string_view dims, std::string_view type, std::string_view size) {
    std::string text = R"({"name":")";
    text.append(name).append(R"(","shape":)").append(dims).append(R"(,"datatype":")").append(type);
    return text.append(R"(","parameters":{"binary_data_size":)").append(size).append("}}");
}
std::string json_input(std::string_view name, std::string_view data) {
    std::string text = R"({"name":")";
    return text.append(name).append(R"(","shape":[1,4],"datatype":"FP32","data":)").append(data).append("}");
}
std::string request(std::string_view first, std::string_view second = {}) {
    std::string text = R"({"inputs":[)";
    text += first;
    if (!second.empty()) (text += ',') += second;
    return text + "]}";
}

const std::string ones = floats({1, 2, 3, 4});
const std::string tens = floats({10, 20, 30, 40});
const std::string both = request(input("A", "[1,4]", "FP32", "16"), input("B", "[1,4]", "FP32", "16"));

result<infer_request> decode_binary(std::string_view json, std::string_view binary, std::string_view length = {}) {
    return decode_infer(binary_message(json, binary, length), limits{});
}

std::string string_element(std::string_view text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + std::string(text);
}

}  // namespace

TEST_CASE("binary: tensors are slices of the body in the order of the JSON") {
    const request_message message = binary_message(both, ones + tens);
    const auto decoded = decode_infer(message, limits{});
    REQUIRE_MESSAGE(decoded.has_value(), refusal(decoded));
    CHECK(values<float>(decoded->inputs[0].value) == std::vector<float>{1, 2, 3, 4});
    CHECK(values<float>(decoded->inputs[1].value) == std::vector<float>{10, 20, 30, 40});
    CHECK(decoded->inputs[0].value.data.data() == message.body.data() + both.size());
    CHECK(decoded->inputs[0].value.data.aligned());
    CHECK(decoded->inputs[0].parameters.empty());
    const auto swapped =
        decode_binary(request(input("B", "[1,4]", "FP32", "16"), input("A", "[1,4]", "FP32", "16")), tens + ones);
    REQUIRE_MESSAGE(swapped.has_value(), refusal(swapped));
    CHECK(swapped->inputs[0].name == "B");
    CHECK(values<float>(swapped->inputs[0].value) == std::vector<float>{10, 20, 30, 40});
    CHECK(values<float>(swapped->inputs[1].value) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("binary: a tensor outlives its message") {
    result<infer_request> decoded = error{};
    {
        const request_message message = binary_message(both, ones + tens);
        decoded = decode_infer(message, limits{});
    }
    REQUIRE(decoded.has_value());
    CHECK(values<float>(decoded->inputs[1].value) == std::vector<float>{10, 20, 30, 40});
}

TEST_CASE("binary: mixed with JSON, either way round") {
    const auto first =
        decode_binary(request(input("A", "[1,4]", "FP32", "16"), json_input("B", "[[10,20,30,40]]")), ones);
    REQUIRE_MESSAGE(first.has_value(), refusal(first));
    CHECK(values<float>(first->inputs[0].value) == std::vector<float>{1, 2, 3, 4});
    CHECK(values<float>(first->inputs[1].value) == std::vector<float>{10, 20, 30, 40});
    const auto second = decode_binary(request(json_input("A", "[1,2,3,4]"), input("B", "[1,4]", "FP32", "16")), tens);
    REQUIRE_MESSAGE(second.has_value(), refusal(second));
    CHECK(values<float>(second->inputs[0].value) == std::vector<float>{1, 2, 3, 4});
    CHECK(values<float>(second->inputs[1].value) == std::vector<float>{10, 20, 30, 40});
}

TEST_CASE("binary: sizes that do not add up") {
    const auto a_only = [](std::string_view size) { return request(input("A", "[1,4]", "FP32", size)); };
    struct row {
        std::string json;
        std::string binary;
        const char* message;
    };
    const row rows[]{
        {a_only("12"), ones, "input 'A': binary_data_size is 12 where FP32 [1,4] takes 16 bytes"},
        {a_only("15"), ones, "input 'A': binary_data_size is 15 where FP32 [1,4] takes 16 bytes"},
        {a_only("17"), ones + "x", "input 'A': binary_data_size is 17 where FP32 [1,4] takes 16 bytes"},
        {a_only("17"), ones, "input 'A': binary_data_size is 17 but the body has only 16 bytes left"},
        {a_only("18446744073709551615"), ones,
         "input 'A': binary_data_size is 18446744073709551615 but the body has only 16 bytes left"},
        {a_only("16"), ones + "x", "1 bytes of the body belong to no input's binary_data_size"},
        {both, ones + tens.substr(8), "input 'B': binary_data_size is 16 but the body has only 8 bytes left"},
        {both, ones + tens + "12345678", "8 bytes of the body belong to no input's binary_data_size"},
        {a_only("\"16\""), ones, "input 'A': parameters.binary_data_size: must be a whole number, not a string"},
        {a_only("-1"), ones, "input 'A': parameters.binary_data_size: -1 is out of range"},
        {a_only("1.5"), ones, "input 'A': parameters.binary_data_size: 1.5 is not an integer"},
        {a_only("18446744073709551616"), ones,
         "input 'A': parameters.binary_data_size: 18446744073709551616 is out of range"},
        {request(json_input("A", R"([1,2,3,4],"parameters":{"binary_data_size":16})")), ones,
         "input 'A': has both data and binary_data_size"},
        {request(json_input("A", "[1,2,3,4]")), ones, "16 bytes of the body belong to no input's binary_data_size"},
        {request(input("A", "[4294967296,4294967296]", "FP32", "0")), "",
         "input 'A': shape [4294967296,4294967296] has more elements than memory can hold"},
        {request(input("A", "[2305843009213693952,2]", "FP32", "0")), "",
         "input 'A': shape [2305843009213693952,2] has more elements than memory can hold"},
        {request(input("A", "[9223372036854775807]", "FP32", "0")), "",
         "input 'A': shape [9223372036854775807] has more elements than memory can hold"},
        {request(input("A", "[1]", "FP32", "0")), "", "input 'A': binary_data_size is 0 where FP32 [1] takes 4 bytes"},
    };
    for (const row& r : rows) {
        CAPTURE(r.json);
        CHECK(refusal(decode_binary(r.json, r.binary)) == r.message);
    }
}

TEST_CASE("binary: Inference-Header-Content-Length out of step with the body") {
    const std::string body_size = std::to_string(both.size() + 32);
    struct row {
        std::string length;
        std::string message;
    };
    const std::string head = "Inference-Header-Content-Length: ";
    const row rows[]{
        {"0", "the request has no JSON: it is empty"},
        {"-1", head + "'-1' is not a number of bytes"},
        {"+5", head + "'+5' is not a number of bytes"},
        {"0x20", head + "'0x20' is not a number of bytes"},
        {"1e3", head + "'1e3' is not a number of bytes"},
        {"1 2", head + "'1 2' is not a number of bytes"},
        {std::to_string(both.size() + 33),
         head + std::to_string(both.size() + 33) + " is more than the " + body_size + " bytes of the body"},
        {"18446744073709551616", head + "18446744073709551616 is more than the " + body_size + " bytes of the body"},
        {"18446744073709551615", head + "18446744073709551615 is more than the " + body_size + " bytes of the body"},
    };
    for (const row& r : rows) {
        CAPTURE(r.length);
        CHECK(refusal(decode_binary(both, ones + tens, r.length)) == r.message);
    }
    CHECK(contains(refusal(decode_binary(both, ones + tens, std::to_string(both.size() + 1))), "bytes follow the end"));
    CHECK(contains(refusal(decode_binary(both, ones + tens, std::to_string(both.size() - 1))), "malformed JSON"));
    request_message empty = message(both, ones + tens);
    empty.headers.add(header::inference_header_content_length, "");
    CHECK(refusal(decode_infer(empty, limits{})) == head + "'' is not a number of bytes");
    request_message twice = binary_message(both, ones + tens);
    twice.headers.add(header::inference_header_content_length, "1");
    CHECK(refusal(decode_infer(twice, limits{})) == head + "the header repeats");
}

TEST_CASE("binary: without the header") {
    CHECK(contains(refusal(decode_infer(message(both, ones + tens), limits{})), "32 bytes follow the end of the JSON"));
    CHECK(refusal(decode_infer(message(both), limits{})) ==
          "input 'A': has a binary_data_size, but the header Inference-Header-Content-Length is missing");
}

TEST_CASE("binary: the header on a request that is JSON alone") {
    const auto decoded = decode_binary(request(json_input("A", "[1,2,3,4]")), "");
    REQUIRE_MESSAGE(decoded.has_value(), refusal(decoded));
    CHECK(values<float>(decoded->inputs[0].value) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("binary: empty tensors and scalars") {
    const auto decoded =
        decode_binary(request(input("A", "[0,2]", "FP32", "0"), input("B", "[]", "FP32", "4")), floats({2.5F}));
    REQUIRE_MESSAGE(decoded.has_value(), refusal(decoded));
    CHECK(decoded->inputs[0].value.data.size() == 0);
    CHECK(decoded->inputs[0].value.shape == shape{0, 2});
    CHECK(values<float>(decoded->inputs[1].value) == std::vector<float>{2.5F});
    CHECK(decode_binary(request(input("A", "[0]", "BYTES", "0")), "").has_value());
}

TEST_CASE("binary: strings by their lengths") {
    const std::string packed = string_element("\xff\xfe") + string_element("") + string_element(std::string("a\0b", 3));
    const auto strings = [](std::string_view dims, const std::string& bytes) {
        return decode_binary(request(input("S", dims, "BYTES", std::to_string(bytes.size()))), bytes);
    };
    const auto decoded = strings("[3]", packed);
    REQUIRE_MESSAGE(decoded.has_value(), refusal(decoded));
    CHECK(std::string(reinterpret_cast<const char*>(decoded->inputs[0].value.data.data()), packed.size()) == packed);
    CHECK(refusal(strings("[2]", packed)) == "input 'S': its binary data holds 3 strings where shape [2] takes 2");
    CHECK(refusal(strings("[4]", packed)) == "input 'S': its binary data holds 3 strings where shape [4] takes 4");
    CHECK(refusal(strings("[1099511627776]", packed)) ==
          "input 'S': its binary data holds 3 strings where shape [1099511627776] takes 1099511627776");
    const std::string broken = "input 'S': the lengths of its strings do not add up to its binary data";
    CHECK(refusal(strings("[3]", packed.substr(0, packed.size() - 1))) == broken);
    CHECK(refusal(strings("[4]", packed + "abc")) == broken);
    CHECK(refusal(strings("[1]", std::string("\xff\xff\xff\xff", 4) + "x")) == broken);
}

TEST_CASE("binary: booleans are 0 or 1") {
    const auto booleans = [](std::string_view bytes) {
        return decode_binary(request(input("M", "[3]", "BOOL", "3")), bytes);
    };
    CHECK(booleans(std::string_view("\x01\x00\x01", 3)).has_value());
    CHECK(refusal(booleans(std::string_view("\x01\x02\x01", 3))) ==
          "input 'M': a BOOL in its binary data is neither 0 nor 1");
}
