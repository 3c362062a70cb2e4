#include <doctest/doctest.h>

#include <boost/json/parse.hpp>
#include <string>

#include "response/encode_json.hpp"
#include "unit/response/encode_helpers.hpp"

using namespace asio_infer;
using namespace asio_infer::test;

namespace {

const json_encoder encoder;

model_spec resnet(std::int64_t version = 1) {
    model_spec spec;
    spec.name = "resnet";
    spec.version = version;
    spec.platform = "onnxruntime_onnx";
    spec.backend = "onnxruntime";
    spec.inputs = {spec_of("x", dtype::fp32, {-1, 3, -1}), spec_of("t", dtype::bytes, {-1})};
    spec.inputs[1].optional = true;
    spec.outputs = {spec_of("y", dtype::fp16, {-1, 10}), spec_of("map", dtype::fp32, {})};
    spec.outputs[1].unsupported = "sequence(map(int64,float))";
    spec.max_batch_rows = 32;
    spec.max_batch_delay_s = 0.0005;
    spec.max_queue_size = 100;
    spec.instances = 2;
    spec.batching_reason = "every leading dim is dynamic";
    spec.providers = {"CUDAExecutionProvider", "CPUExecutionProvider"};
    return spec;
}

std::string text_of(void (*fill)(response_message&)) {
    response_message out;
    fill(out);
    CHECK(out.status == 200);
    return out.text;
}

std::string config_of(const model_spec& spec) {
    response_message out;
    encoder.model_config(described_model(spec), out);
    boost::json::parse(out.text);
    return out.text;
}

}  // namespace

TEST_CASE("health bodies") {
    CHECK(text_of([](response_message& out) { encoder.live(out); }) == R"({"live":true})");
    CHECK(text_of([](response_message& out) { encoder.ready(true, out); }) == R"({"ready":true,"live":true})");
    CHECK(text_of([](response_message& out) { encoder.model_ready("a\"", true, out); }) ==
          R"({"name":"a\"","ready":true})");
    response_message out;
    encoder.ready(false, out);
    CHECK(out.status == 503);
    CHECK(out.text == R"({"ready":false,"live":true})");
    response_message model;
    encoder.model_ready("m", false, model);
    CHECK(model.status == 503);
    CHECK(model.text == R"({"name":"m","ready":false})");
}

TEST_CASE("server metadata announces what works") {
    CHECK(text_of([](response_message& out) { encoder.server_metadata(out); }) ==
          R"({"name":"asio_infer","version":")" ASIO_INFER_VERSION
          R"(","extensions":["binary_tensor_data","classification","model_configuration","parameters","statistics"]})");
}

TEST_CASE("model metadata") {
    const model_ptr first = std::make_shared<described_model>(resnet(2));
    const model_ptr second = std::make_shared<described_model>(resnet(10));
    const std::vector<model_ptr> versions{first, second};
    response_message out;
    encoder.model_metadata(*second, versions, out);
    CHECK(out.text == R"({"name":"resnet","versions":["2","10"],"platform":"onnxruntime_onnx","inputs":[)"
                      R"({"name":"x","datatype":"FP32","shape":[-1,3,-1]},)"
                      R"({"name":"t","datatype":"BYTES","shape":[-1],"optional":true}],)"
                      R"("outputs":[{"name":"y","datatype":"FP16","shape":[-1,10]}]})");
}

TEST_CASE("model metadata: scalars and unknown ranks") {
    model_spec spec = resnet();
    spec.inputs = {spec_of("s", dtype::fp32, {}), spec_of("any", dtype::fp32, {})};
    spec.inputs[1].any_rank = true;
    response_message out;
    encoder.model_metadata(described_model(spec), {}, out);
    const std::string_view listed =
        R"([{"name":"s","datatype":"FP32","shape":[]},{"name":"any","datatype":"FP32","shape":[-1]}])";
    CHECK(out.text.find(listed) != out.text.npos);
}

TEST_CASE("configuration of a batched model leaves the batch axis out") {
    CHECK(config_of(resnet()) ==
          R"({"name":"resnet","platform":"onnxruntime_onnx","backend":"onnxruntime","version_policy":{"all":{}},)"
          R"("max_batch_size":32,"input":[{"name":"x","data_type":"TYPE_FP32","dims":[3,-1]},)"
          R"({"name":"t","data_type":"TYPE_STRING","dims":[],"optional":true}],)"
          R"("output":[{"name":"y","data_type":"TYPE_FP16","dims":[10]}],)"
          R"("dynamic_batching":{"max_queue_delay_microseconds":500,"default_queue_policy":{"max_queue_size":100}},)"
          R"("instance_group":[{"name":"resnet","kind":"KIND_GPU","count":2}],)"
          R"("parameters":{"batching":{"string_value":"every leading dim is dynamic"},)"
          R"("providers":{"string_value":"CUDAExecutionProvider,CPUExecutionProvider"},)"
          R"-("unsupported.map":{"string_value":"sequence(map(int64,float))"}}})-");
}

TEST_CASE("configuration of an unbatched model has full dims and no batching") {
    model_spec spec = resnet();
    spec.max_batch_rows = 0;
    spec.providers = {"CPUExecutionProvider"};
    const std::string text = config_of(spec);
    CHECK(text.find(R"("max_batch_size":0,)") != text.npos);
    CHECK(text.find(R"("dims":[-1,3,-1])") != text.npos);
    CHECK(text.find("dynamic_batching") == text.npos);
    CHECK(text.find(R"("kind":"KIND_CPU")") != text.npos);
}

TEST_CASE("statistics") {
    const auto model = std::make_shared<described_model>(resnet(4));
    model_stats& stats = model->stats();
    stats.success.add(3, 300);
    stats.fail.add(1, 10);
    stats.queue.add(3, 30);
    stats.compute_input.add(3, 6);
    stats.compute_infer.add(3, 200);
    stats.compute_output.add(3, 9);
    stats.inferences = 5;
    stats.executions = 2;
    stats.last_inference_ms = 1700000000123;
    stats.runs_by_rows[2].compute_infer.add(1, 120);
    stats.runs_by_rows[2].compute_input.add(1, 2);
    stats.runs_by_rows[2].compute_output.add(1, 3);
    const std::vector<model_ptr> models{model};
    response_message out;
    encoder.statistics(models, out);
    CHECK(out.text ==
          R"({"model_stats":[{"name":"resnet","version":"4","last_inference":1700000000123,"inference_count":5,)"
          R"("execution_count":2,"inference_stats":{"success":{"count":3,"ns":300},"fail":{"count":1,"ns":10},)"
          R"("queue":{"count":3,"ns":30},"compute_input":{"count":3,"ns":6},"compute_infer":{"count":3,"ns":200},)"
          R"("compute_output":{"count":3,"ns":9},"cache_hit":{"count":0,"ns":0},"cache_miss":{"count":0,"ns":0}},)"
          R"("batch_stats":[{"batch_size":2,"compute_input":{"count":1,"ns":2},"compute_infer":{"count":1,"ns":120},)"
          R"("compute_output":{"count":1,"ns":3}}]}]})");
    response_message none;
    encoder.statistics({}, none);
    CHECK(none.text == R"({"model_stats":[]})");
}

TEST_CASE("welcome: what is served, as text") {
    const auto model = std::make_shared<described_model>(resnet(4));
    const auto retired = std::make_shared<described_model>(resnet(5));
    retired->close({}, false);
    const std::vector<model_ptr> models{model, retired};
    response_message out;
    encoder.welcome(models, out);
    CHECK(out.content_type == "text/plain; charset=utf-8");
    CHECK(out.text.find("  resnet  version 4\n") != out.text.npos);
    CHECK(out.text.find("  resnet  version 5  (not ready)\n") != out.text.npos);
    CHECK(out.text.find("POST /v2/models/NAME/infer") != out.text.npos);
    response_message none;
    encoder.welcome({}, none);
    CHECK(none.text.find("no model is registered") != none.text.npos);
}
