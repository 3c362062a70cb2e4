#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "core/status_table.hpp"
#include "response/encode_json.hpp"
#include "unit/response/encode_helpers.hpp"

using namespace asio_infer;
using namespace asio_infer::test;

namespace {

model_spec two_outputs() {
    model_spec spec;
    spec.name = "m";
    spec.version = 3;
    spec.inputs = {spec_of("X", dtype::fp32, {-1, 2})};
    spec.outputs = {spec_of("Y", dtype::fp32, {-1, 2}), spec_of("Z", dtype::int64, {-1})};
    spec.max_batch_rows = 8;
    return spec;
}

struct wanted {
    std::uint32_t index;
    tensor value;
    bool binary = false;
    std::uint32_t classification = 0;
};

infer_call finished(std::vector<wanted> outputs, model_spec spec = two_outputs()) {
    infer_call call;
    call.model = std::make_shared<described_model>(std::move(spec));
    for (wanted& output : outputs) {
        call.outputs.push_back({output.index, output.binary, output.classification});
        call.outcome->push_back(std::move(output.value));
    }
    return call;
}

response_message encode(const infer_call& call) {
    response_message out;
    json_encoder().infer(call, out);
    return out;
}

/// The "data" text of a single output of this tensor.
std::string data_text(tensor value) {
    const response_message out = encode(finished({{0, std::move(value)}}));
    CHECK(out.status == 200);
    const std::size_t at = out.text.find("\"data\":");
    REQUIRE(at != out.text.npos);
    boost::json::parse(out.text);  // strict: throws if it is not JSON
    return out.text.substr(at + 7, out.text.size() - at - 7 - 3);
}

std::string refused(tensor value) {
    const response_message out = encode(finished({{1, std::move(value)}}));
    CHECK(out.status == 400);
    CHECK(out.content_type == "application/json");
    return boost::json::parse(out.text).at("error").as_string().c_str();
}

constexpr std::string_view how =
    ", which JSON cannot carry; ask for it with the output parameter \"binary_data\": true";

}  // namespace

TEST_CASE("encode: JSON outputs") {
    infer_call call = finished({{0, tensor_of<float>(dtype::fp32, {1, 2}, {1.5F, -2.0F})},
                                {1, tensor_of<std::int64_t>(dtype::int64, {1}, {9007199254740993})}});
    const response_message out = encode(call);
    CHECK(out.status == 200);
    CHECK(out.content_type == "application/json");
    CHECK_FALSE(out.json_length.has_value());
    CHECK(out.text == R"({"model_name":"m","model_version":"3","outputs":[)"
                      R"({"name":"Y","shape":[1,2],"datatype":"FP32","data":[1.5,-2.0]},)"
                      R"({"name":"Z","shape":[1],"datatype":"INT64","data":[9007199254740993]}]})");
    call.request.id = "a\"b";
    CHECK(encode(call).text.starts_with(R"({"model_name":"m","model_version":"3","id":"a\"b","outputs":[)"));
}

TEST_CASE("encode: binary and JSON mixed, in the order asked for") {
    const response_message out = encode(finished({{1, tensor_of<std::int64_t>(dtype::int64, {1}, {7}), true},
                                                  {0, tensor_of<float>(dtype::fp32, {1, 2}, {1, 2})}}));
    CHECK(out.content_type == "application/octet-stream");
    CHECK(out.text ==
          R"({"model_name":"m","model_version":"3","outputs":[{"name":"Z","shape":[1],"datatype":"INT64",)"
          R"("parameters":{"binary_data_size":8}},{"name":"Y","shape":[1,2],"datatype":"FP32","data":[1.0,2.0]}]})");
    CHECK(out.json_length == out.text.size());
    REQUIRE(out.parts.size() == 1);
    CHECK(text_of(out.parts[0]) == std::string("\x07\0\0\0\0\0\0\0", 8));
    CHECK(out.body_size() == out.text.size() + 8);
}

TEST_CASE("encode: binary tensors leave from where they are, with their exact bits") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    const tensor value = tensor_of<float>(dtype::fp32, {2, 2}, {nan, -inf, -0.0F, 1});
    const response_message out = encode(finished({{0, value, true}}));
    REQUIRE(out.parts.size() == 1);
    CHECK(out.parts[0].data() == value.data.data());
    CHECK(out.parts[0].size() == 16);
}

TEST_CASE("encode: empty tensors are still listed") {
    CHECK(data_text(tensor_of<float>(dtype::fp32, {0, 2}, {})) == "[]");
    CHECK(data_text(strings_of({0}, {})) == "[]");
    const response_message out = encode(finished({{0, tensor_of<float>(dtype::fp32, {1, 0}, {}), true}}));
    CHECK(out.text.find(R"("shape":[1,0],"datatype":"FP32","parameters":{"binary_data_size":0})") != out.text.npos);
    CHECK(out.json_length == out.text.size());
    CHECK(out.body_size() == out.text.size());
}

TEST_CASE("encode: numbers of every datatype, exact and shortest") {
    CHECK(data_text(tensor_of<std::uint8_t>(dtype::boolean, {3}, {1, 0, 1})) == "[true,false,true]");
    CHECK(data_text(tensor_of<std::uint8_t>(dtype::uint8, {2}, {0, 255})) == "[0,255]");
    CHECK(data_text(tensor_of<std::int8_t>(dtype::int8, {2}, {-128, 127})) == "[-128,127]");
    CHECK(data_text(tensor_of<std::uint16_t>(dtype::uint16, {1}, {65535})) == "[65535]");
    CHECK(data_text(tensor_of<std::int16_t>(dtype::int16, {1}, {-32768})) == "[-32768]");
    CHECK(data_text(tensor_of<std::uint32_t>(dtype::uint32, {1}, {4294967295U})) == "[4294967295]");
    CHECK(data_text(tensor_of<std::int32_t>(dtype::int32, {1}, {-2147483647})) == "[-2147483647]");
    CHECK(data_text(tensor_of<std::uint64_t>(dtype::uint64, {1}, {18446744073709551615U})) == "[18446744073709551615]");
    CHECK(data_text(tensor_of<std::int64_t>(dtype::int64, {1}, {std::numeric_limits<std::int64_t>::min()})) ==
          "[-9223372036854775808]");
    CHECK(data_text(tensor_of<std::uint16_t>(dtype::fp16, {3}, {0x3c00, 0x2e66, 0x8000})) == "[1.0,0.1,-0.0]");
    CHECK(data_text(tensor_of<std::uint16_t>(dtype::bf16, {2}, {0x3f80, 0x3dcd})) == "[1.0,0.1]");
    CHECK(data_text(tensor_of<float>(dtype::fp32, {6}, {6e-7F, 1e38F, 1.17e-38F, -0.0F, 0.1F, 16777217.0F})) ==
          "[6e-07,1e+38,1.17e-38,-0.0,0.1,16777216.0]");
    CHECK(data_text(tensor_of<double>(dtype::fp64, {2}, {5e-324, 0.1})) == "[5e-324,0.1]");
    CHECK(data_text(tensor_of<float>(dtype::fp32, {}, {2.5F})) == "[2.5]");
}

TEST_CASE("encode: long arrays are whole") {
    std::vector<double> values(10'000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = -1.2345678901234567e-300 / static_cast<double>(i + 1);
    const boost::json::value parsed =
        boost::json::parse(encode(finished({{0, tensor_of<double>(dtype::fp64, {10'000}, values)}})).text, {},
                           {.max_depth = 32, .numbers = boost::json::number_precision::precise});
    const boost::json::array& data = parsed.at("outputs").at(0).at("data").as_array();
    REQUIRE(data.size() == values.size());
    int wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) wrong += data[i].as_double() != values[i];
    CHECK(wrong == 0);
}

TEST_CASE("encode: strings keep every byte and are strict JSON") {
    CHECK(data_text(strings_of({4}, {std::string("a\0b", 3), "", "\xc3\xa9", "\"\\\n\x1f"})) ==
          "[\"a\\u0000b\",\"\",\"\xc3\xa9\",\"\\\"\\\\\\n\\u001f\"]");
}

TEST_CASE("encode: what JSON cannot carry is an error that names the output and the binary form") {
    const float inf = std::numeric_limits<float>::infinity();
    const std::string start = "output 'Z': element ";
    CHECK(refused(tensor_of<float>(dtype::fp32, {3}, {0, std::nanf(""), 1})) == start + "1 is nan" + std::string(how));
    CHECK(refused(tensor_of<float>(dtype::fp32, {1}, {inf})) == start + "0 is inf" + std::string(how));
    CHECK(refused(tensor_of<float>(dtype::fp32, {1}, {-inf})) == start + "0 is -inf" + std::string(how));
    CHECK(refused(tensor_of<double>(dtype::fp64, {1}, {HUGE_VAL})) == start + "0 is inf" + std::string(how));
    CHECK(refused(tensor_of<std::uint16_t>(dtype::fp16, {1}, {0xfc00})) == start + "0 is -inf" + std::string(how));
    CHECK(refused(tensor_of<std::uint16_t>(dtype::bf16, {2}, {0, 0x7fc0})) == start + "1 is nan" + std::string(how));
    CHECK(refused(strings_of({2}, {"ok", "\xff\xfe"})) == start + "1 is not UTF-8" + std::string(how));
    CHECK(refused(strings_of({1}, {"\xed\xa0\x80"})) == start + "0 is not UTF-8" + std::string(how));
}

TEST_CASE("encode: a refused output leaves nothing of the others behind") {
    const response_message out = encode(finished({{0, tensor_of<float>(dtype::fp32, {1, 2}, {1, 2}), true},
                                                  {1, tensor_of<float>(dtype::fp32, {1}, {std::nanf("")})}}));
    CHECK(out.status == 400);
    CHECK(out.parts.empty());
    CHECK_FALSE(out.json_length.has_value());
    CHECK(out.content_type == "application/json");
    CHECK(out.text.starts_with(R"({"error":"output 'Z': element 0 is nan)"));
}

TEST_CASE("encode: classification by row in a batched model") {
    const tensor scores = tensor_of<float>(dtype::fp32, {2, 3}, {0.5F, 2, 0.5F, -1, std::nanf(""), 7});
    const response_message out = encode(finished({{0, scores, false, 2}}));
    CHECK(out.text ==
          R"({"model_name":"m","model_version":"3","outputs":[{"name":"Y","shape":[2,2],"datatype":"BYTES",)"
          R"("data":["2.0:1","0.5:0","7.0:2","-1.0:0"]}]})");
}

TEST_CASE("encode: a failed call") {
    infer_call call = finished({});
    call.outcome = error{errc::queue_full, "the queue of 'm' is full"};
    const response_message out = encode(call);
    CHECK(out.status == 429);
    CHECK(out.retry_after_s == 1);
    CHECK(out.text == R"({"error":"the queue of 'm' is full"})");
}

TEST_CASE("failure: status and Retry-After come from the table for every code") {
    for (const status_row& row : status_table) {
        response_message out;
        json_encoder().failure({row.code, "line\nbreak \xff"}, out);
        CAPTURE(row.name);
        CHECK(out.status == row.http);
        CHECK(out.retry_after_s == (row.retry_after ? 1U : 0U));
        CHECK(out.content_type == "application/json");
        CHECK(out.text == R"({"error":"line\nbreak \ufffd"})");
    }
}

TEST_CASE("encode: the locale has no effect") {
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE"})
        if (std::setlocale(LC_ALL, name) != nullptr) break;
    CHECK(data_text(tensor_of<float>(dtype::fp32, {2}, {0.5F, 12345.5F})) == "[0.5,12345.5]");
    std::setlocale(LC_ALL, "C");
}
