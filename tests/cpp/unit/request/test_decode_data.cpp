#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/bytes_elements.hpp"
#include "unit/request/decode_helpers.hpp"

using namespace asio_infer;
using namespace asio_infer::test;

namespace {

/// The same input with its data in front of shape and datatype.
std::string data_first(std::string_view dims, std::string_view type, std::string_view data) {
    std::string text = R"({"inputs":[{"data":)";
    text.append(data).append(R"(,"name":"A","datatype":")").append(type).append(R"(","shape":)").append(dims);
    return text + "}]}";
}

/// Decodes in both orders, which must agree, and returns the tensor or fails.
tensor one(std::string_view dims, std::string_view type, std::string_view data) {
    const auto direct = decode(one_input(dims, type, data));
    const auto replayed = decode(data_first(dims, type, data));
    REQUIRE_MESSAGE(direct.has_value(), refusal(direct));
    REQUIRE_MESSAGE(replayed.has_value(), refusal(replayed));
    const tensor& value = direct->inputs[0].value;
    CHECK(values<std::uint8_t>(value) == values<std::uint8_t>(replayed->inputs[0].value));
    CHECK(value.shape == replayed->inputs[0].value.shape);
    CHECK(value.data.aligned());
    CHECK(value.data.data() != nullptr);
    return value;
}

std::string refused(std::string_view dims, std::string_view type, std::string_view data) {
    const std::string direct = refusal(decode(one_input(dims, type, data)));
    CHECK(direct == refusal(decode(data_first(dims, type, data))));
    return direct;
}

std::vector<std::string> strings(const tensor& t) {
    std::vector<std::string> out;
    bytes_elements elements(t.data.bytes());
    while (const auto element = elements.next()) out.emplace_back(*element);
    return out;
}

}  // namespace

TEST_CASE("data: flat and properly nested are the same") {
    const std::vector<float> expected{1, 2, 3, 4};
    CHECK(values<float>(one("[2,2]", "FP32", "[1,2,3,4]")) == expected);
    CHECK(values<float>(one("[2,2]", "FP32", "[[1,2],[3,4]]")) == expected);
    CHECK(values<float>(one("[4]", "FP32", "[1,2,3,4]")) == expected);
    CHECK(values<float>(one("[1,4]", "FP32", "[[1,2,3,4]]")) == expected);
    CHECK(values<float>(one("[2,1,2]", "FP32", "[[[1,2]],[[3,4]]]")) == expected);
}

TEST_CASE("data: ragged and mis-nested is refused") {
    CHECK(refused("[2,2]", "FP32", "[[1,2,3,4]]") == "input 'A': data: a row with 4 items where shape [2,2] takes 2");
    CHECK(refused("[2,2]", "FP32", "[[1],[2,3,4]]") == "input 'A': data: a row with 1 items where shape [2,2] takes 2");
    CHECK(refused("[2,2]", "FP32", "[1,[2,3],4]") == "input 'A': data: nested otherwise than shape [2,2]");
    CHECK(refused("[2,2]", "FP32", "[[1,2],3,4]") == "input 'A': data: nested otherwise than shape [2,2]");
    CHECK(refused("[2,2]", "FP32", "[[1,2]]") == "input 'A': data: a row with 1 items where shape [2,2] takes 2");
    CHECK(refused("[2,2]", "FP32", "[[1,2],[3,4],[5,6]]") == "input 'A': data: more rows than shape [2,2] has");
    CHECK(refused("[2,2]", "FP32", "[[[1],[2]],[[3],[4]]]") == "input 'A': data: nested otherwise than shape [2,2]");
    CHECK(refused("[2,2]", "FP32", "[[],[1,2,3,4]]") ==
          "input 'A': data: a row with 0 items where shape [2,2] takes 2");
    CHECK(refused("[4]", "FP32", "[[1,2,3,4]]") == "input 'A': data: nested otherwise than shape [4]");
    CHECK(refused("[2,2,1]", "FP32", "[[1,2],[3,4]]") == "input 'A': data: nested otherwise than shape [2,2,1]");
}

TEST_CASE("data: the number of values is the shape's") {
    CHECK(refused("[2,2]", "FP32", "[]") == "input 'A': data: 0 values where shape [2,2] takes 4");
    CHECK(refused("[2,2]", "FP32", "[1,2,3]") == "input 'A': data: 3 values where shape [2,2] takes 4");
    CHECK(refused("[2,2]", "FP32", "[1,2,3,4,5]") == "input 'A': data: more than the 4 values of shape [2,2]");
    CHECK(refused("[0]", "FP32", "[1]") == "input 'A': data: more than the 0 values of shape [0]");
}

TEST_CASE("data: empty tensors and scalars") {
    CHECK(one("[0,2]", "FP32", "[]").data.size() == 0);
    CHECK(one("[2,0]", "FP32", "[]").data.size() == 0);
    CHECK(one("[2,0]", "FP32", "[[],[]]").data.size() == 0);
    CHECK(one("[0]", "BYTES", "[]").shape == shape{0});
    CHECK(one("[0,9223372036854775807]", "FP32", "[]").data.size() == 0);
    CHECK(values<float>(one("[]", "FP32", "[2.5]")) == std::vector<float>{2.5F});
    CHECK(values<float>(one("[]", "FP32", "2.5")) == std::vector<float>{2.5F});
    CHECK(one("[]", "FP32", "2.5").shape.empty());
    CHECK(strings(one("[]", "BYTES", R"("x")")) == std::vector<std::string>{"x"});
    CHECK(values<std::uint8_t>(one("[]", "BOOL", "true")) == std::vector<std::uint8_t>{1});
    CHECK(refused("[1]", "FP32", "2.5") == "input 'A': data: must be an array for shape [1]");
    CHECK(refused("[]", "FP32", "[]") == "input 'A': data: 0 values where shape [] takes 1");
    CHECK(refused("[]", "FP32", "[[1]]") == "input 'A': data: nested otherwise than shape []");
}

TEST_CASE("data: shapes that are negative or overflow are refused before any data") {
    struct row {
        const char* dims;
        const char* message;
    };
    const row rows[]{
        {"[-1,4]", "inputs[0].shape[0]: -1 is negative"},
        {"[-2,-2]", "inputs[0].shape[0]: -2 is negative"},
        {"[2,-9223372036854775808]", "inputs[0].shape[1]: -9223372036854775808 is negative"},
        {"[9223372036854775808]", "inputs[0].shape[0]: 9223372036854775808 is out of range"},
        {"[4294967296,4294967296]", "input 'A': shape [4294967296,4294967296] has more elements than memory can hold"},
        {"[2305843009213693952,2]", "input 'A': shape [2305843009213693952,2] has more elements than memory can hold"},
        {"[9223372036854775807]", "input 'A': shape [9223372036854775807] has more elements than memory can hold"},
        {"[0,9223372036854775807,2]",
         "input 'A': shape [0,9223372036854775807,2] has more elements than memory can hold"},
    };
    for (const row& r : rows) {
        CAPTURE(std::string(r.dims));
        CHECK(refused(r.dims, "FP32", "[1,2,3,4]") == r.message);
    }
    std::string ones = "[1";
    for (int i = 1; i < 1000; ++i) ones += ",1";
    CHECK(refused(ones + "]", "FP32", "[1]") == "inputs[0].shape: more than 64 dimensions");
}

TEST_CASE("data: memory follows what arrives, not what the shape declares") {
    CHECK(refused("[1099511627776]", "FP64", "[1,2,3]") ==
          "input 'A': data: 3 values where shape [1099511627776] takes 1099511627776");
    // 2^59 elements of 8 bytes could not be allocated even once.
    CHECK(refused("[576460752303423488]", "FP64", "[1]") ==
          "input 'A': data: 1 values where shape [576460752303423488] takes 576460752303423488");
    CHECK(refused("[1099511627776]", "BYTES", R"(["a"])") ==
          "input 'A': data: 1 values where shape [1099511627776] takes 1099511627776");
}

TEST_CASE("data: growing keeps every value") {
    std::string data = "[";
    for (int i = 0; i < 10'000; ++i) data += (i > 0 ? "," : "") + std::to_string(i * 3);
    const std::vector<std::int32_t> got = values<std::int32_t>(one("[100,100]", "INT32", data + "]"));
    REQUIRE(got.size() == 10'000);
    int wrong = 0;
    for (int i = 0; i < 10'000; ++i) wrong += got[static_cast<std::size_t>(i)] != i * 3;
    CHECK(wrong == 0);
}

TEST_CASE("data: value ranges and kinds by datatype") {
    struct row {
        const char* type;
        const char* value;
        const char* message;
    };
    const row rows[]{
        {"UINT8", "300", "input 'A': data: element 0: 300 is out of range for UINT8"},
        {"UINT8", "-1", "input 'A': data: element 0: -1 is out of range for UINT8"},
        {"UINT8", "1.5", "input 'A': data: element 0: 1.5 is not an integer as UINT8 needs"},
        {"UINT8", "\"1\"", "input 'A': data: a string where UINT8 takes numbers"},
        {"UINT8", "true", "input 'A': data: a boolean where UINT8 takes numbers"},
        {"UINT8", "1e2", "accepted"},
        {"UINT8", "4.0", "accepted"},
        {"INT32", "2147483648", "input 'A': data: element 0: 2147483648 is out of range for INT32"},
        {"INT64", "9223372036854775808", "input 'A': data: element 0: 9223372036854775808 is out of range for INT64"},
        {"UINT64", "-1", "input 'A': data: element 0: -1 is out of range for UINT64"},
        {"UINT64", "18446744073709551615", "accepted"},
        {"BOOL", "true", "accepted"},
        {"BOOL", "false", "accepted"},
        {"BOOL", "0", "input 'A': data: a number where BOOL takes true or false"},
        {"BOOL", "1", "input 'A': data: a number where BOOL takes true or false"},
        {"BOOL", "2", "input 'A': data: a number where BOOL takes true or false"},
        {"BOOL", "\"true\"", "input 'A': data: a string where BOOL takes true or false"},
        {"BOOL", "null", "input 'A': data: null where BOOL takes true or false"},
        {"FP32", "\"1\"", "input 'A': data: a string where FP32 takes numbers"},
        {"FP32", "null", "input 'A': data: null where FP32 takes numbers"},
        {"FP32", "true", "input 'A': data: a boolean where FP32 takes numbers"},
        {"FP32", "1e39", "input 'A': data: element 0: 1e39 is out of range for FP32"},
        {"FP32", "1e-60", "accepted"},
        {"FP64", "1e309", "input 'A': data: element 0: 1e309 is out of range for FP64"},
        {"FP16", "65504", "accepted"},
        {"FP16", "65520", "input 'A': data: element 0: 65520 is out of range for FP16"},
        {"BF16", "1e39", "input 'A': data: element 0: 1e39 is out of range for BF16"},
        {"BYTES", "1", "input 'A': data: a number where BYTES takes strings"},
        {"BYTES", "true", "input 'A': data: a boolean where BYTES takes strings"},
        {"BYTES", "null", "input 'A': data: null where BYTES takes strings"},
    };
    for (const row& r : rows) {
        CAPTURE(std::string(r.type));
        CAPTURE(std::string(r.value));
        CHECK(refused("[1]", r.type, "[" + std::string(r.value) + "]") == r.message);
    }
    CHECK(refused("[3]", "INT8", "[1,2,128]") == "input 'A': data: element 2: 128 is out of range for INT8");
}

TEST_CASE("data: objects among the values, whether shape and type are known or not") {
    for (const char* data : {R"([{}])", R"([{"a":1}])", R"([1,{"a":{"b":[1]}}])", R"([[{"a":1}]])"}) {
        CAPTURE(std::string(data));
        CHECK(
            contains(refusal(decode(data_first("[2]", "FP32", data))), "inputs[0]: data: an object among the values"));
        CHECK(decode(one_input("[2]", "FP32", data)).has_error());
    }
}

TEST_CASE("data: exact values of every datatype") {
    CHECK(values<std::int64_t>(one("[3]", "INT64", "[9007199254740993,9223372036854775807,-9223372036854775808]")) ==
          std::vector<std::int64_t>{9007199254740993, std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min()});
    CHECK(values<std::uint64_t>(one("[1]", "UINT64", "[18446744073709551615]")) ==
          std::vector<std::uint64_t>{std::numeric_limits<std::uint64_t>::max()});
    CHECK(values<std::int16_t>(one("[2]", "INT16", "[-32768,1e2]")) == std::vector<std::int16_t>{-32768, 100});
    CHECK(values<std::uint16_t>(one("[1]", "UINT16", "[65535]")) == std::vector<std::uint16_t>{65535});
    CHECK(values<std::uint32_t>(one("[1]", "UINT32", "[4294967295]")) == std::vector<std::uint32_t>{4294967295U});
    CHECK(values<std::int32_t>(one("[1]", "INT32", "[-2147483648]")) ==
          std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min()});
    CHECK(values<std::uint8_t>(one("[3]", "BOOL", "[true,false,true]")) == std::vector<std::uint8_t>{1, 0, 1});
    CHECK(values<std::uint16_t>(one("[2]", "FP16", "[1.0,65504]")) == std::vector<std::uint16_t>{0x3c00, 0x7bff});
    CHECK(values<std::uint16_t>(one("[1]", "BF16", "[1]")) == std::vector<std::uint16_t>{0x3f80});
    CHECK(values<float>(one("[4]", "FP32", "[6e-7,1e38,1.17e-38,0.1]")) ==
          std::vector<float>{6e-7F, 1e38F, 1.17e-38F, 0.1F});
    CHECK(values<double>(one("[2]", "FP64", "[5e-324,0.1]")) == std::vector<double>{5e-324, 0.1});
    CHECK(std::signbit(values<float>(one("[1]", "FP32", "[-0.0]"))[0]));
}

TEST_CASE("data: strings keep every byte") {
    const tensor t = one("[5]", "BYTES", R"(["a\u0000b","","é","\ud83d\ude00","q\"\\\/\n"])");
    CHECK(strings(t) ==
          std::vector<std::string>{std::string("a\0b", 3), "", "\xc3\xa9", "\xf0\x9f\x98\x80", "q\"\\/\n"});
    CHECK(strings(one("[2,1]", "BYTES", R"([["x"],["y"]])")) == std::vector<std::string>{"x", "y"});
    const std::string large(2 << 20, 'z');
    CHECK(strings(one("[2]", "BYTES", "[\"" + large + "\",\"\\n" + large + "\"]")) ==
          std::vector<std::string>{large, "\n" + large});
}
