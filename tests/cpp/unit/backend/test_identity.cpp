#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backend/identity/fault_rule.hpp"
#include "backend/identity/identity_options.hpp"
#include "support/backend_fixture.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;

namespace {

struct identity_fixture {
    collecting_log log;
    manual_executor workers;
    runtime_options runtime;

    std::unique_ptr<backend_model> load(const string_map& settings = {}, std::uint32_t instances = 1) {
        model_options o;
        o.name = "echo";
        o.version = 3;
        o.backend = "identity";
        o.instances = instances;
        o.backend_options = settings;
        return make_backend_model(o.backend, o, {runtime, workers, log});
    }
};

error parse_error(const string_map& settings) {
    return error_of([&] { parse_identity_options(settings); });
}

}  // namespace

TEST_CASE("options of an identity model") {
    const identity_options plain = parse_identity_options({});
    CHECK(plain.type == dtype::fp32);
    CHECK(plain.shape == shape{-1, -1});
    CHECK(plain.tensors == 1);
    CHECK(plain.delay.count() == 0);

    const identity_options given =
        parse_identity_options({{"datatype", "BYTES"}, {"shape", "-1,2,0"}, {"inputs", "3"}, {"delay_s", "0.25"}});
    CHECK(given.type == dtype::bytes);
    CHECK(given.shape == shape{-1, 2, 0});
    CHECK(given.tensors == 3);
    CHECK(given.delay == std::chrono::milliseconds(250));
    CHECK(parse_identity_options({{"shape", ""}}).shape.empty());
}

TEST_CASE("options of an identity model that cannot be are refused by name") {
    const string_map refused{
        {"datatype", "fp32"}, {"shape", "-2"},    {"shape", "1,"},    {"shape", "a"},
        {"shape", ",1"},      {"inputs", "0"},    {"inputs", "1000"}, {"delay_s", "-1"},
        {"delay_s", "nan"},   {"delay_s", "1e9"}, {"fail", "nth:0"},  {"fail", "nth:x"},
        {"fail", "row:abc"},  {"fail", "maybe"},  {"colour", "red"},  {"shape", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"}};
    for (const auto& setting : refused) {
        CAPTURE(setting.first);
        CAPTURE(setting.second);
        const error e = parse_error({setting});
        CHECK(e.code == errc::invalid_request);
        CHECK(mentions(e, "\"" + setting.first + "\""));
    }
}

TEST_CASE("a rule that goes by the number of the run") {
    const fault_rule never;
    const fault_rule always("always", dtype::fp32);
    const fault_rule third("nth:3", dtype::fp32);
    for (const std::uint64_t number : {1, 2, 3, 4, 5, 6}) {
        CHECK_FALSE(never.fails_by_number(number));
        CHECK(always.fails_by_number(number));
        CHECK(third.fails_by_number(number) == (number % 3 == 0));
    }
}

TEST_CASE("a rule that goes by the first element of a row") {
    const fault_rule seven("row:7", dtype::fp32);
    CHECK(seven.fails_by_row(floats({2, 2}, {1, 2, 7, 4})));
    CHECK_FALSE(seven.fails_by_row(floats({2, 2}, {1, 7, 3, 7})));
    CHECK_FALSE(seven.fails_by_row(floats({0, 2}, {})));
    CHECK_FALSE(seven.fails_by_row(floats({2, 0}, {})));
    CHECK(seven.fails_by_row(floats({}, {7})));
    CHECK_FALSE(fault_rule("always", dtype::fp32).fails_by_row(floats({1}, {7})));

    CHECK(fault_rule("row:-1", dtype::int8).fails_by_row(numbers<std::int8_t>(dtype::int8, {2}, {0, -1})));
    CHECK(fault_rule("row:300", dtype::uint16).fails_by_row(numbers<std::uint16_t>(dtype::uint16, {1}, {300})));
    CHECK(fault_rule("row:1.5", dtype::fp16).fails_by_row(numbers<std::uint16_t>(dtype::fp16, {1}, {0x3e00})));
    CHECK(fault_rule("row:2", dtype::bf16).fails_by_row(numbers<std::uint16_t>(dtype::bf16, {1}, {0x4000})));
    CHECK(fault_rule("row:5", dtype::int64).fails_by_row(numbers<std::int64_t>(dtype::int64, {2, 1}, {4, 5})));

    const fault_rule word("row:bad", dtype::bytes);
    CHECK(word.fails_by_row(strings({2, 2}, {"a", "bad", "bad", "c"})));
    CHECK_FALSE(word.fails_by_row(strings({2, 2}, {"a", "bad", "b", "bad"})));
}

TEST_CASE_FIXTURE(identity_fixture, "an identity model describes itself") {
    const auto model = load({{"datatype", "INT64"}, {"inputs", "2"}, {"shape", "-1,4"}}, 2);
    const model_spec& spec = model->spec();
    CHECK(spec.name == "echo");
    CHECK(spec.version == 3);
    CHECK(spec.platform == "identity");
    CHECK(spec.backend == "identity");
    CHECK(model->instance_count() == 2);
    REQUIRE(spec.inputs.size() == 2);
    REQUIRE(spec.outputs.size() == 2);
    CHECK(spec.inputs[1].name == "INPUT1");
    CHECK(spec.outputs[1].name == "OUTPUT1");
    CHECK(spec.outputs[1].type == dtype::int64);
    CHECK(spec.outputs[1].shape == shape{-1, 4});
    CHECK(spec.outputs[1].symbols.size() == 2);
    CHECK(model->rows_are_independent() == true);
    CHECK_FALSE(model->needs_warm_up());
    CHECK(error_of([&] { load({}, 0); }).code == errc::invalid_request);
}

TEST_CASE_FIXTURE(identity_fixture, "it echoes one call into memory of its own") {
    const auto model = load({{"inputs", "2"}});
    const auto call = make_call({floats({1, 2}, {1, 2}), floats({1, 3}, {3, 4, 5}, 4)});
    waiting_job waiting({call.get()}, {0, 1}, true);
    model->instance(0).async_run(waiting.job);
    const auto& outputs = waiting.wait();
    REQUIRE(outputs);
    CHECK(values_of<float>((*outputs)[0]) == std::vector<float>{1, 2});
    CHECK(values_of<float>((*outputs)[1]) == std::vector<float>{3, 4, 5});
    CHECK((*outputs)[1].shape == shape{1, 3});
    CHECK((*outputs)[0].data.data() != call->inputs[0]->data.data());
    CHECK(waiting.job.compute_started.time_since_epoch().count() > 0);
    CHECK(waiting.job.compute_ended >= waiting.job.compute_started);
}

TEST_CASE_FIXTURE(identity_fixture, "it joins the rows of several calls, on a worker") {
    const auto model = load();
    const auto first = make_call({floats({2, 1}, {1, 2})}, 2);
    const auto second = make_call({floats({1, 1}, {3})});
    waiting_job waiting({first.get(), second.get()}, {0}, false);
    model->instance(0).async_run(waiting.job);
    CHECK_FALSE(waiting.is_done());
    CHECK(workers.waiting() == 1);
    workers.run_all();
    const auto& outputs = waiting.wait();
    REQUIRE(outputs);
    CHECK(outputs->front().shape == shape{3, 1});
    CHECK(values_of<float>(outputs->front()) == std::vector<float>{1, 2, 3});
}

TEST_CASE_FIXTURE(identity_fixture, "it fails when it was told to") {
    const auto one = [](float value) { return std::vector<tensor>{floats({1, 1}, {value})}; };
    const auto third = load({{"fail", "nth:3"}}, 2);
    CHECK(run_alone(*third, one(1)));
    CHECK(run_alone(*third, one(1)));
    const auto failed = run_alone(*third, one(1));
    REQUIRE(failed.has_error());
    CHECK(failed.error().code == errc::model_error);
    CHECK(run_alone(*third, one(1)));

    const auto row = load({{"fail", "row:7"}});
    CHECK(run_alone(*row, one(6)));
    const auto good = make_call(one(6));
    const auto bad = make_call(one(7));
    waiting_job together({good.get(), bad.get()}, {0}, true);
    row->instance(0).async_run(together.job);
    CHECK(together.wait().has_error());
    CHECK(run_alone(*row, one(7)).has_error());
}

TEST_CASE_FIXTURE(identity_fixture, "a run that is cancelled before its delay is over") {
    const auto model = load({{"delay_s", "3600"}});
    const auto call = make_call({floats({1, 1}, {1})});
    waiting_job waiting({call.get()}, {0}, false);
    model->instance(0).cancel();  // reaches no job
    model->instance(0).async_run(waiting.job);
    model->instance(0).cancel();
    workers.run_all();
    const auto& outputs = waiting.wait();
    REQUIRE(outputs.has_error());
    CHECK(outputs.error().code == errc::cancelled);
}
