#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include "unit/request/decode_helpers.hpp"

using namespace asio_infer;
using namespace asio_infer::test;

namespace {

std::string repeat(std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
}

/// A good request with something added behind its inputs.
std::string with(std::string_view members) {
    return R"({"inputs":[{"name":"A","shape":[1],"datatype":"FP32","data":[1]}],)" + std::string(members) + "}";
}

}  // namespace

TEST_CASE("json: everything that a request can say") {
    const auto request = decode(R"({
        "id": "r-1",
        "parameters": {"timeout": 1500, "binary_data_output": true, "sequence_id": 7, "big": 18446744073709551615,
                       "low": -9223372036854775808, "ratio": 0.5, "flag": false, "text": "h\u00e9"},
        "inputs": [
            {"name": "A", "shape": [1, 2], "datatype": "FP32", "parameters": {"k": "v"}, "data": [1.5, -2]},
            {"name": "B", "shape": [2], "datatype": "INT64", "data": [9007199254740993, -1]}],
        "outputs": [{"name": "Y", "parameters": {"binary_data": false, "other": 1.0}},
                    {"name": "Z", "parameters": {"classification": 3}}]})");
    REQUIRE_MESSAGE(request.has_value(), refusal(request));
    CHECK(request->id == "r-1");
    CHECK(request->timeout_us == 1500);
    CHECK(request->binary_output);
    const parameter_list others{{"sequence_id", std::int64_t{7}},
                                {"big", std::numeric_limits<std::uint64_t>::max()},
                                {"low", std::numeric_limits<std::int64_t>::min()},
                                {"ratio", 0.5},
                                {"flag", false},
                                {"text", std::string("h\xc3\xa9")}};
    CHECK(request->parameters == others);
    REQUIRE(request->inputs.size() == 2);
    CHECK(request->inputs[0].name == "A");
    CHECK(request->inputs[0].value.shape == shape{1, 2});
    CHECK(request->inputs[0].value.type == dtype::fp32);
    CHECK(values<float>(request->inputs[0].value) == std::vector<float>{1.5F, -2.0F});
    CHECK(request->inputs[0].parameters == parameter_list{{"k", std::string("v")}});
    CHECK(values<std::int64_t>(request->inputs[1].value) == std::vector<std::int64_t>{9007199254740993, -1});
    REQUIRE(request->outputs.size() == 2);
    CHECK(request->outputs[0].name == "Y");
    CHECK_FALSE(request->outputs[0].binary);
    CHECK(request->outputs[0].parameters == parameter_list{{"other", 1.0}});
    CHECK(request->outputs[1].classification == 3);
    CHECK(request->outputs[1].binary);
}

TEST_CASE("json: the order of members does not matter, also for binary_data_output") {
    const auto request = decode(R"({"outputs":[{"name":"Y"}],"parameters":{"binary_data_output":true},
        "inputs":[{"data":[[1,2],[3,4]],"datatype":"INT8","shape":[2,2],"name":"A"}]})");
    REQUIRE_MESSAGE(request.has_value(), refusal(request));
    CHECK(request->outputs[0].binary);
    CHECK(values<std::int8_t>(request->inputs[0].value) == std::vector<std::int8_t>{1, 2, 3, 4});
}

TEST_CASE("json: unknown members are ignored wherever they stand, whatever they hold") {
    const auto request = decode(R"({"future":{"a":[1,{"inputs":3}],"b":null},"inputs":[{"x":[[]],"name":"A",
        "shape":[1],"datatype":"UINT8","data":[7],"y":{"name":1}}],"outputs":[{"name":"Y","z":[null]}],
        "more":"text"})");
    REQUIRE_MESSAGE(request.has_value(), refusal(request));
    CHECK(values<std::uint8_t>(request->inputs[0].value) == std::vector<std::uint8_t>{7});
    CHECK(request->outputs[0].name == "Y");
}

TEST_CASE("json: a wrong kind anywhere is refused by the field's name") {
    struct row {
        std::string body;
        const char* message;
    };
    const row rows[]{
        {"", "the request has no JSON: it is empty"},
        {"[]", "the request must be a JSON object, not an array"},
        {"null", "the request must be a JSON object, not null"},
        {"5", "the request must be a JSON object, not a number"},
        {"{}", "inputs: missing"},
        {R"({"inputs":{}})", "inputs: must be an array, not an object"},
        {R"({"inputs":null})", "inputs: must be an array, not null"},
        {R"({"inputs":[1]})", "inputs[0]: must be an object, not a number"},
        {R"({"inputs":[[]]})", "inputs[0]: must be an object, not an array"},
        {R"({"inputs":[{"name":7}]})", "inputs[0].name: must be a string, not a number"},
        {R"({"inputs":[{"shape":"-1"}]})", "inputs[0].shape: must be an array, not a string"},
        {R"({"inputs":[{"shape":[1.5,4]}]})", "inputs[0].shape[0]: 1.5 is not an integer"},
        {R"({"inputs":[{"shape":[1,null]}]})", "inputs[0].shape[1]: must be an integer, not null"},
        {R"({"inputs":[{"shape":[[1]]}]})", "inputs[0].shape[0]: must be an integer, not an array"},
        {R"({"inputs":[{"shape":["1"]}]})", "inputs[0].shape[0]: must be an integer, not a string"},
        {R"({"inputs":[{"datatype":null}]})", "inputs[0].datatype: must be a string, not null"},
        {R"({"inputs":[{"datatype":"fp32"}]})", "inputs[0].datatype: 'fp32' is no datatype of the protocol"},
        {R"({"inputs":[{"parameters":[]}]})", "inputs[0].parameters: must be an object, not an array"},
        {R"({"inputs":[{"data":{"b64":"AA"}}]})", "inputs[0].data: must be an array, not an object"},
        {one_input("[1]", "FP32", "[{}]"), "input 'A': data: an object among the values"},
        {one_input("[2]", "FP32", "\"1,2\""), "input 'A': data: must be an array for shape [2]"},
        {one_input("[1]", "FP32", "null"), "input 'A': data: null where FP32 takes numbers"},
        {R"({"inputs":[{"shape":[1],"datatype":"FP32","data":[1]}]})", "inputs[0]: name: missing"},
        {R"({"inputs":[{"name":"A","datatype":"FP32","data":[1]}]})", "input 'A': shape: missing"},
        {R"({"inputs":[{"name":"A","shape":[1],"data":[1]}]})", "input 'A': datatype: missing"},
        {R"({"inputs":[{"name":"A","shape":[1],"datatype":"FP32"}]})",
         "input 'A': has neither data nor binary_data_size"},
        {with(R"("id":{})"), "id: must be a string, not an object"},
        {with(R"("id":9007199254740993)"), "id: must be a string, not a number"},
        {with(R"("parameters":[])"), "parameters: must be an object, not an array"},
        {with(R"("parameters":{"a":[]})"), "parameters.a: must be a boolean, a number or a string, not an array"},
        {with(R"("parameters":{"a":{}})"), "parameters.a: must be a boolean, a number or a string, not an object"},
        {with(R"("parameters":{"a":null})"), "parameters.a: must be a boolean, a number or a string, not null"},
        {with(R"("parameters":{"a":18446744073709551616})"), "parameters.a: 18446744073709551616 is out of range"},
        {with(R"("parameters":{"a":1e400})"), "parameters.a: 1e400 is out of range"},
        {with(R"("outputs":{})"), "outputs: must be an array, not an object"},
        {with(R"("outputs":["Y"])"), "outputs[0]: must be an object, not a string"},
        {with(R"("outputs":[{}])"), "outputs[0]: name: missing"},
        {with(R"("outputs":[{"name":"Y"},{"name":null}])"), "outputs[1].name: must be a string, not null"},
        {with(R"("outputs":[{"name":"Y","parameters":{"binary_data":1}}])"),
         "output 'Y': parameters.binary_data: must be true or false, not a number"},
        {with(R"("outputs":[{"name":"Y","parameters":{"classification":0}}])"),
         "output 'Y': parameters.classification: must be 1 or more"},
        {with(R"("outputs":[{"name":"Y","parameters":{"classification":"3"}}])"),
         "output 'Y': parameters.classification: must be a whole number, not a string"},
        {with(R"("outputs":[{"name":"Y","parameters":{"shared_memory_region":"r"}}])"),
         "output 'Y': parameters.shared_memory_byte_size: missing"},
        {with(R"("parameters":{"binary_data_output":"true"})"),
         "parameters.binary_data_output: must be true or false, not a string"},
        {with(R"("parameters":{"timeout":-1})"), "parameters.timeout: -1 is out of range"},
        {with(R"("parameters":{"timeout":1.5})"), "parameters.timeout: 1.5 is not an integer"},
        {with(R"("parameters":{"timeout":"5"})"), "parameters.timeout: must be a whole number, not a string"},
    };
    for (const row& r : rows) {
        CAPTURE(r.body);
        CHECK(refusal(decode(r.body)) == r.message);
    }
}

TEST_CASE("json: keys that repeat are refused at every level") {
    struct row {
        std::string body;
        const char* message;
    };
    const row rows[]{
        {R"({"inputs":[],"inputs":[]})", "the key 'inputs' repeats"},
        {R"({"x":1,"y":2,"x":3,"inputs":[]})", "the key 'x' repeats"},
        {R"({"inputs":[{"name":"A","name":"A"}]})", "input 'A': the key 'name' repeats"},
        {R"({"inputs":[{"data":[],"data":[]}]})", "inputs[0]: the key 'data' repeats"},
        {R"({"inputs":[],"outputs":[{"name":"Y","name":"Z"}]})", "output 'Y': the key 'name' repeats"},
        {with(R"("parameters":{"a":1,"a":1})"), "parameters.a: repeats"},
        {with(R"("parameters":{"timeout":1,"timeout":1})"), "parameters.timeout: repeats"},
        {R"({"\u0069nputs":[],"inputs":[]})", "the key 'inputs' repeats"},
    };
    for (const row& r : rows) {
        CAPTURE(r.body);
        CHECK(refusal(decode(r.body)) == r.message);
    }
    CHECK(decode(R"({"inputs":[{"name":"A","shape":[0],"datatype":"FP32","data":[]},
                               {"name":"B","shape":[0],"datatype":"FP32","data":[]}]})")
              .has_value());
}

TEST_CASE("json: what is not one strict JSON document is refused") {
    const std::string good = R"({"inputs":[]})";
    REQUIRE(decode(good).has_value());
    CHECK(decode(" \r\n\t" + good + " \n").has_value());
    CHECK(contains(refusal(decode(good + "x")), "1 bytes follow the end of the JSON"));
    CHECK(contains(refusal(decode(good + good)), "bytes follow the end of the JSON"));
    CHECK(contains(refusal(decode(good + std::string(1, '\0'))), "bytes follow"));
    CHECK(contains(refusal(decode("\xef\xbb\xbf" + good)), "byte order mark"));
    for (const char* bad : {R"({"inputs":[])", R"({"inputs":[],})", R"({inputs:[]})", R"({"inputs":[NaN]})",
                            R"({'inputs':[]})", R"({"inputs":[]/**/})", "{", R"({"inputs")"}) {
        CAPTURE(std::string(bad));
        CHECK(contains(refusal(decode(bad)), "malformed JSON"));
    }
    for (const char* data :
         {"[NaN]", "[Infinity]", "[-Infinity]", "[01]", "[+1]", "[.5]", "[1.]", "[1e]", "[0x1]", "[-]"}) {
        CAPTURE(std::string(data));
        CHECK(contains(refusal(decode(one_input("[1]", "FP32", data))), "inputs[0].data: malformed JSON"));
    }
}

TEST_CASE("json: text that is not Unicode is refused") {
    for (const char* text : {R"("\ud800")", R"("\udc00")", R"("\ud800\u0041")", R"("\ud800x")", "\"\xff\xfe\"",
                             "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"a\nb\"", R"("\x")", R"("\u12")"}) {
        CAPTURE(std::string(text));
        CHECK(contains(refusal(decode(one_input("[1]", "BYTES", "[" + std::string(text) + "]"))), "malformed JSON"));
    }
    CHECK(contains(refusal(decode("{\"inputs\":[],\"\xff\":1}")), "malformed JSON"));
}

TEST_CASE("json: nesting is bounded and quick to refuse") {
    const auto started = std::chrono::steady_clock::now();
    CHECK(refusal(decode(repeat("[", 200'000))) == "the request must be a JSON object, not an array");
    CHECK(contains(refusal(decode(repeat(R"({"a":)", 500'000))), "nested deeper than 100 levels"));
    const std::string deep = repeat("[", 5'000) + "1" + repeat("]", 5'000);
    CHECK(contains(refusal(decode(one_input("[1]", "FP32", deep))), "nested otherwise than shape [1]"));
    CHECK(contains(refusal(decode(R"({"inputs":[{"data":)" + deep)), "inputs[0].data: nested deeper than 100 levels"));
    CHECK(contains(refusal(decode(with("\"parameters\":{\"a\":" + deep + "}"))), "not an array"));
    CHECK(contains(refusal(decode(with("\"future\":" + deep))), "nested deeper than 100 levels"));
    CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(4));
    const std::string dims = "[" + repeat("1,", 63) + "1]";
    CHECK(decode(one_input(dims, "FP32", repeat("[", 64) + "1" + repeat("]", 64))).has_value());
}

TEST_CASE("json: counts are bounded") {
    limits bounds;
    bounds.max_tensors = 2;
    bounds.max_parameters = 2;
    bounds.max_rank = 3;
    const std::string input = R"({"name":"A","shape":[0],"datatype":"FP32","data":[]})";
    const auto inputs = [&](int n) { return R"({"inputs":[)" + input + repeat("," + input, n - 1) + "]}"; };
    CHECK(decode(inputs(2), bounds).has_value());
    CHECK(refusal(decode(inputs(3), bounds)) == "inputs: more than 2");
    CHECK(refusal(decode(R"({"inputs":[],"outputs":[{"name":"a"},{"name":"b"},{"name":"c"}]})", bounds)) ==
          "outputs: more than 2");
    CHECK(decode(R"({"inputs":[],"parameters":{"a":1,"timeout":2}})", bounds).has_value());
    CHECK(refusal(decode(R"({"inputs":[],"parameters":{"a":1,"timeout":2,"c":3}})", bounds)) ==
          "parameters.c: is one of more than 2");
    CHECK(refusal(decode(R"({"a":1,"b":2,"c":3,"inputs":[]})", bounds)) == "more than 2 unknown keys");
    CHECK(decode(R"({"inputs":[{"name":"A","shape":[1,1,1],"datatype":"FP32","data":[1]}]})", bounds).has_value());
    CHECK(refusal(decode(R"({"inputs":[{"name":"A","shape":[1,1,1,1],"datatype":"FP32","data":[1]}]})", bounds)) ==
          "inputs[0].shape: more than 3 dimensions");
}

TEST_CASE("json: whole numbers in other clothes are whole numbers for shapes and parameters") {
    const auto request = decode(R"({"inputs":[{"name":"A","shape":[4.0,1e0],"datatype":"UINT8","data":[1,2,3,4]}],
        "parameters":{"timeout":1e3}})");
    REQUIRE_MESSAGE(request.has_value(), refusal(request));
    CHECK(request->inputs[0].value.shape == shape{4, 1});
    CHECK(request->timeout_us == 1000);
}

TEST_CASE("json: a name with control characters or without end is harmless in a message") {
    const std::string message =
        refusal(decode(R"({"inputs":[{"name":"a\nb\u001b[2J","shape":[1],"datatype":"FP32"}]})"));
    CHECK(message.find('\n') == message.npos);
    CHECK(message.find('\x1b') == message.npos);
    CHECK(refusal(decode(R"({"inputs":[{"datatype":")" + std::string(100'000, 'x') + "\"}]}")).size() < 400);
    CHECK(refusal(decode(one_input("[1]", "INT8", "[" + std::string(100'000, '9') + "]"))).size() < 200);
}
