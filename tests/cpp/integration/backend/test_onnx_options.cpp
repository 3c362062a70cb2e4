#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/backend_fixture.hpp"
#include "support/temporary_folder.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;

namespace {

bool runs(backend_model& model) {
    const auto outputs = run_alone(model, {floats({1, 16}, std::vector<float>(16, 1))});
    return outputs.has_value() && outputs->front().shape.front() == 1;
}

}  // namespace

TEST_CASE_FIXTURE(onnx_fixture, "session options by the names of onnxruntime.SessionOptions") {
    const std::vector<std::pair<std::string, std::string>> accepted{
        {"graph_optimization_level", "99"},
        {"graph_optimization_level", "ORT_DISABLE_ALL"},
        {"graph_optimization_level", "GraphOptimizationLevel.ORT_ENABLE_EXTENDED"},
        {"execution_mode", "ExecutionMode.ORT_PARALLEL"},
        {"execution_mode", "0"},
        {"intra_op_num_threads", "1"},
        {"intra_op_num_threads", "2"},
        {"intra_op_num_threads", "0"},
        {"inter_op_num_threads", "2"},
        {"use_per_session_threads", "True"},
        {"enable_cpu_mem_arena", "False"},
        {"enable_mem_pattern", "false"},
        {"use_deterministic_compute", "1"},
        {"logid", "mine"},
        {"log_severity_level", "3"},
        {"log_severity_level", "-1"},
        {"log_verbosity_level", "1"},
        {"optimized_model_filepath", ""},
        {"enable_profiling", "false"},
    };
    for (const auto& attribute : accepted) {
        CAPTURE(attribute.first);
        CAPTURE(attribute.second);
        auto o = options("tiny");
        o.session_attributes = {attribute};
        CHECK(runs(*load(o)));
    }
}

TEST_CASE_FIXTURE(onnx_fixture, "session options that do not exist, and values that they cannot take") {
    const std::vector<std::pair<std::string, std::string>> refused{
        {"intra_op_num_thread", "1"},
        {"intra_op_num_threads", "-1"},
        {"intra_op_num_threads", "two"},
        {"intra_op_num_threads", "1000000"},
        {"intra_op_num_threads", "1.5"},
        {"graph_optimization_level", "7"},
        {"execution_mode", "ORT_QUICK"},
        {"enable_mem_pattern", "maybe"},
        {"enable_mem_pattern", ""},
        {"log_severity_level", "5"},
        {"logid ", "x"},
        {"add_free_dimension_override_by_name", "N"},
        {"add_free_dimension_override_by_name", "N=0"},
    };
    for (const auto& attribute : refused) {
        CAPTURE(attribute.first);
        CAPTURE(attribute.second);
        auto o = options("tiny");
        o.session_attributes = {attribute};
        const error e = load_error(o);
        CHECK(e.code == errc::invalid_request);
        CHECK(mentions(e, attribute.first));
    }
}

TEST_CASE_FIXTURE(onnx_fixture, "a dimension that is fixed by name") {
    auto o = options("tiny");
    const auto free_model = load(o);
    const std::string symbol = free_model->spec().inputs[0].symbols[0];
    o.session_attributes = {{"add_free_dimension_override_by_name", symbol + "=3"}};
    const auto model = load(o);
    CHECK(model->spec().inputs[0].shape == shape{3, 16});
    CHECK(run_alone(*model, {floats({3, 16}, std::vector<float>(48, 1))}));
    const auto refused = run_alone(*model, {floats({1, 16}, std::vector<float>(16, 1))});
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == errc::invalid_request);
}

TEST_CASE_FIXTURE(onnx_fixture, "files that a session is told to write") {
    const temporary_folder folder;
    const auto optimized = folder.path() / "optimized.onnx";
    auto o = options("tiny");
    o.session_attributes = {{"optimized_model_filepath", optimized.string()},
                            {"graph_optimization_level", "ORT_ENABLE_BASIC"},
                            {"enable_profiling", "1"},
                            {"profile_file_prefix", (folder.path() / "profile").string()}};
    CHECK(runs(*load(o)));
    CHECK(std::filesystem::is_regular_file(optimized));
    unsigned profiles = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        if (entry.path().filename().string().starts_with("profile")) ++profiles;
    CHECK(profiles == 1);
}

TEST_CASE_FIXTURE(onnx_fixture, "config entries reach the session") {
    auto o = options("tiny");
    o.session_config_entries = {{"session.set_denormal_as_zero", "1"}, {"session.intra_op.allow_spinning", "1"}};
    CHECK(runs(*load(o)));
    CHECK_FALSE(log.contains("overwritten"));
    o.session_config_entries = {{"", "1"}};
    CHECK(load_error(o).code == errc::invalid_request);
}

TEST_CASE_FIXTURE(onnx_fixture, "bytes that the session would borrow are refused") {
    model_options o;
    o.name = "m";
    o.bytes.resize(10);
    o.session_config_entries = {{"session.use_ort_model_bytes_directly", "1"}};
    CHECK(load_error(o).code == errc::invalid_request);
}

TEST_CASE_FIXTURE(onnx_fixture, "a missing provider is a warning in front of the CPU's") {
    auto o = options("tiny");
    o.providers = {{"NoSuchExecutionProvider", {{"device_id", "0"}}}, {"CPUExecutionProvider", {}}};
    const auto model = load(o);
    CHECK(model->spec().providers == std::vector<std::string>{"CPUExecutionProvider"});
    CHECK(log.contains("NoSuchExecutionProvider"));
    CHECK(runs(*model));
}

TEST_CASE_FIXTURE(onnx_fixture, "a missing provider is an error otherwise, and what there is gets named") {
    auto o = options("tiny");
    o.providers = {{"NoSuchExecutionProvider", {}}};
    const error e = load_error(o);
    CHECK(e.code == errc::invalid_request);
    CHECK(mentions(e, "NoSuchExecutionProvider"));
    CHECK(mentions(e, "CPUExecutionProvider"));
}

TEST_CASE_FIXTURE(onnx_fixture, "the CPU's provider alone, and none at all") {
    auto o = options("tiny");
    CHECK(load(o)->spec().providers == std::vector<std::string>{"CPUExecutionProvider"});
    o.providers = {{"CPUExecutionProvider", {}}};
    CHECK(load(o)->spec().providers == std::vector<std::string>{"CPUExecutionProvider"});
    CHECK_FALSE(log.contains("provider"));
}

TEST_CASE_FIXTURE(onnx_fixture, "what the runtime says goes to the log") {
    auto o = options("tiny");
    o.session_attributes = {{"log_severity_level", "0"}, {"logid", "talkative"}};
    CHECK(runs(*load(o)));
    CHECK(log.contains("talkative"));
}

TEST_CASE("a log that is gone is not written to") {
    onnx_fixture first;
    auto kept = first.load("tiny");
    {
        onnx_fixture second;
        second.load("tiny");
    }
    auto o = first.options("tiny");
    o.session_attributes = {{"log_severity_level", "0"}};
    CHECK(runs(*first.load(o)));
    CHECK(first.log.records().size() > 0);
    CHECK(runs(*kept));
}
