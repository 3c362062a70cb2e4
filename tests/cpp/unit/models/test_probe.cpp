#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "models/probe.hpp"
#include "models/sample_run.hpp"
#include "support/backend_fixture.hpp"
#include "unit/models/fake_model.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;
using mode = batching_options::mode;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinite = std::numeric_limits<float>::infinity();

model_spec simple_spec() {
    return describe_model({describe("x", dtype::fp32, {-1, 4}, {"N"})}, {describe("y", dtype::fp32, {-1, 4}, {"N"})});
}

result<std::vector<tensor>> echo(const std::vector<tensor>& inputs) { return inputs; }

/// Each row minus the mean of all rows: what one row gives depends on the others.
result<std::vector<tensor>> centred(const std::vector<tensor>& inputs) {
    auto values = values_of<float>(inputs[0]);
    const float mean = std::accumulate(values.begin(), values.end(), 0.0F) / static_cast<float>(values.size());
    for (float& value : values) value -= mean;
    return std::vector<tensor>{floats(inputs[0].shape, values)};
}

bool differ(const tensor& a, const tensor& b, bool single = true) {
    return row_difference(a, b, "y", single).has_value();
}

}  // namespace

TEST_CASE("dims that rule out a batch axis are named") {
    const auto obstacle = [](const tensor_spec& input, const tensor_spec& output) {
        return batching_obstacle(describe_model({input}, {output})).value_or("");
    };
    const tensor_spec good_in = describe("x", dtype::fp32, {-1, 4}, {"N"});
    const tensor_spec good_out = describe("y", dtype::fp32, {-1}, {"M"});
    CHECK(obstacle(good_in, good_out) == "");
    CHECK(obstacle(describe("x", dtype::fp32, {1, 4}), good_out) == "the leading dimension of input 'x' is fixed to 1");
    CHECK(obstacle(good_in, describe("y", dtype::fp32, {4, -1})) ==
          "the leading dimension of output 'y' is fixed to 4");
    CHECK(obstacle(describe("x", dtype::fp32, {}), good_out) == "input 'x' is a scalar");
    CHECK(obstacle(good_in, describe("y", dtype::fp32, {})) == "output 'y' is a scalar");
    CHECK(obstacle(describe("x", dtype::fp32, {-1, -1}, {"N", "N"}), good_out) ==
          "dimension 1 of 'x' is the batch dimension 'N'");
    CHECK(obstacle(good_in, describe("y", dtype::fp32, {-1, -1}, {"N", "N"})) ==
          "dimension 1 of 'y' is the batch dimension 'N'");
    tensor_spec any = describe("x", dtype::fp32, {});
    any.any_rank = true;
    CHECK(obstacle(any, good_out) == "the rank of input 'x' is unknown");
}

TEST_CASE("optional inputs and outputs that cannot travel do not count") {
    model_spec spec = simple_spec();
    tensor_spec scale = describe("k", dtype::fp32, {});
    scale.optional = true;
    spec.inputs.push_back(scale);
    tensor_spec map = describe("z", dtype::fp32, {});
    map.unsupported = "sequence(map(int64,tensor(float)))";
    spec.outputs.push_back(map);
    CHECK_FALSE(batching_obstacle(spec));
    spec.inputs.erase(spec.inputs.begin());
    CHECK(batching_obstacle(spec) == "no input has to be given");
    spec = simple_spec();
    spec.outputs[0].unsupported = "optional(tensor(float))";
    CHECK(batching_obstacle(spec) == "no output can be served");
}

TEST_CASE("real numbers may differ by a few last bits of the largest") {
    const tensor base = floats({1, 3}, {1000, 1, 0});
    CHECK_FALSE(differ(base, floats({1, 3}, {1000, 1, 0})));
    CHECK_FALSE(differ(base, floats({1, 3}, {1000.01F, 1.01F, 0.01F})));
    CHECK(differ(base, floats({1, 3}, {1001, 1, 0})));
    CHECK(differ(base, floats({1, 3}, {1000, 1, 0.1F})));
    CHECK(differ(floats({1, 1}, {0}), floats({1, 1}, {1e-30F})));
    CHECK_FALSE(differ(floats({1, 2}, {not_a_number, infinite}), floats({1, 2}, {not_a_number, infinite})));
    CHECK(differ(floats({1, 2}, {not_a_number, 1}), floats({1, 2}, {1, 1})));
    CHECK(differ(floats({1, 2}, {1, 1}), floats({1, 2}, {1, not_a_number})));
    CHECK(differ(floats({1, 2}, {infinite, 1}), floats({1, 2}, {-infinite, 1})));
    CHECK(differ(floats({1, 2}, {infinite, 1}), floats({1, 2}, {3, 1})));
    CHECK_FALSE(differ(floats({1, 0}, {}), floats({1, 0}, {})));
}

TEST_CASE("the tolerance goes with the type, and with what a FP64 result was computed from") {
    const auto half = [](std::uint16_t bits) { return numbers<std::uint16_t>(dtype::fp16, {1}, {bits}); };
    CHECK_FALSE(differ(half(0x3c00), half(0x3c02)));
    CHECK(differ(half(0x3c00), half(0x3c08)));
    const auto brain = [](std::uint16_t bits) { return numbers<std::uint16_t>(dtype::bf16, {1}, {bits}); };
    CHECK_FALSE(differ(brain(0x3f80), brain(0x3f81)));
    CHECK(differ(brain(0x3f80), brain(0x3f84)));
    const auto wide = [](double value) { return numbers<double>(dtype::fp64, {1}, {value}); };
    CHECK(differ(wide(1), wide(1 + 1e-9), false));
    CHECK_FALSE(differ(wide(1), wide(1 + 1e-14), false));
    CHECK_FALSE(differ(wide(1), wide(1 + 1e-9), true));
}

TEST_CASE("integers, truth values and strings must be equal, as must types and shapes") {
    const auto whole = [](std::int64_t value) { return numbers<std::int64_t>(dtype::int64, {1}, {value}); };
    CHECK_FALSE(differ(whole(1), whole(1)));
    CHECK(differ(whole(9007199254740992), whole(9007199254740993)));
    CHECK(differ(strings({1}, {"a"}), strings({1}, {"b"})));
    CHECK(differ(strings({1}, {"a"}), strings({1}, {"ab"})));
    CHECK_FALSE(differ(strings({1}, {"a"}), strings({1}, {"a"})));
    CHECK(row_difference(floats({1, 2}, {1, 2}), floats({1, 1}, {1}), "out", true) ==
          "output 'out' has shape [1,2] for a row alone and [1,1] beside others");
}

TEST_CASE("rows that do not influence each other make a model batchable") {
    fake_model model(simple_spec(), echo);
    const probe_result r = probe_batching(model, mode::automatic);
    CHECK(r.batchable);
    CHECK(model.rows == std::vector<std::uint32_t>{1, 1, 1, 3});
}

TEST_CASE("rows that influence each other do not") {
    fake_model model(simple_spec(), centred);
    const probe_result r = probe_batching(model, mode::automatic);
    CHECK_FALSE(r.batchable);
    CHECK(r.reason.find("influence each other") != std::string::npos);
    CHECK(r.reason.find("'y'") != std::string::npos);
}

TEST_CASE("an output whose rows are not the request's") {
    fake_model model(simple_spec(), [](const std::vector<tensor>&) -> result<std::vector<tensor>> {
        return std::vector<tensor>{floats({4, 1}, {0, 1, 2, 3})};
    });
    const probe_result r = probe_batching(model, mode::automatic);
    CHECK_FALSE(r.batchable);
    CHECK(r.reason.find("'y'") != std::string::npos);
}

TEST_CASE("the rows that are tried differ from each other, in every type") {
    for (const dtype_info& row : dtype_table) {
        CAPTURE(row.name);
        const model_spec spec =
            describe_model({describe("x", row.type, {-1, 16})}, {describe("y", row.type, {-1, 16})});
        std::set<std::string> seen;
        for (std::uint32_t seed = 0; seed < 3; ++seed) {
            const auto call = make_sample_call(spec, sample_styles[0], 1, seed);
            REQUIRE(call);
            CHECK(call->inputs[0]->shape == shape{1, 16});
            seen.insert(bytes_of(*call->inputs[0]));
            const auto again = make_sample_call(spec, sample_styles[0], 1, seed);
            CHECK(bytes_of(*again->inputs[0]) == bytes_of(*call->inputs[0]));
        }
        CHECK(seen.size() == 3);
    }
}

TEST_CASE("made-up inputs have the model's dims, dynamic ones the style's size, and leave out what is optional") {
    model_spec spec =
        describe_model({describe("a", dtype::int64, {-1, -1, 3}, {"N", "L"}),
                        describe("b", dtype::fp32, {-1, 2}, {"M"}), describe("c", dtype::boolean, {2, -1}, {"", "N"})},
                       {describe("y", dtype::fp32, {-1})});
    spec.inputs[1].optional = true;
    const auto call = make_sample_call(spec, {5, 1}, 2, 0);
    REQUIRE(call);
    REQUIRE(call->inputs.size() == 3);
    CHECK(call->inputs[0]->shape == shape{2, 5, 3});
    CHECK(call->inputs[1] == nullptr);
    CHECK(call->inputs[2]->shape == shape{2, 2});
    for (const std::int64_t value : values_of<std::int64_t>(*call->inputs[0])) CHECK((value == 0 || value == 1));
    CHECK(call->rows == 2);
}

TEST_CASE("a model that needs other sizes or values is tried with those") {
    fake_model model(describe_model({describe("x", dtype::int64, {-1, -1})}, {describe("y", dtype::int64, {-1, -1})}),
                     [](const std::vector<tensor>& inputs) -> result<std::vector<tensor>> {
                         if (inputs[0].shape[1] < 32) return error{errc::model_error, "too small to pool"};
                         return inputs;
                     });
    CHECK(probe_batching(model, mode::automatic).batchable);
}

TEST_CASE("where nothing runs, a model is not batchable and the first reason is given") {
    fake_model model(simple_spec(), [n = 0](const std::vector<tensor>&) mutable -> result<std::vector<tensor>> {
        return error{errc::model_error, "failure " + std::to_string(n++)};
    });
    const probe_result r = probe_batching(model, mode::automatic);
    CHECK_FALSE(r.batchable);
    CHECK(r.reason == "the model could not be tried with made-up rows: failure 0");
    CHECK(model.rows.size() == std::size(sample_styles));
}

TEST_CASE("inputs that are too large are not made up") {
    constexpr std::int64_t huge = std::int64_t{1} << 40;
    for (const shape& dims : {shape{-1, huge}, shape{-1, huge, huge}, shape{-1, -1, -1, -1, 100'000}}) {
        fake_model model(describe_model({describe("x", dtype::fp32, dims)}, {describe("y", dtype::fp32, dims)}), echo);
        const bool small_enough_somewhere = dims.size() == 5;
        const probe_result r = probe_batching(model, mode::automatic);
        CHECK(r.batchable == small_enough_somewhere);
        if (!small_enough_somewhere) CHECK(r.reason.find("too large") != std::string::npos);
    }
}

TEST_CASE("no run starts once the runs took too long") {
    fake_model model(simple_spec(), echo);
    model.run_time = std::chrono::seconds(6);
    const probe_result r = probe_batching(model, mode::automatic, std::chrono::seconds(10));
    CHECK_FALSE(r.batchable);
    CHECK(r.reason.find("too long") != std::string::npos);
    CHECK(model.rows.size() == 2);
}

TEST_CASE("batching that is asked for is not tried, and refused where the dims rule it out") {
    fake_model model(simple_spec(), centred);
    CHECK(probe_batching(model, mode::on).batchable);
    CHECK(model.rows.empty());
    CHECK_FALSE(probe_batching(model, mode::off).batchable);
    CHECK(model.rows.empty());

    fake_model fixed(describe_model({describe("x", dtype::fp32, {1, 4})}, {describe("y", dtype::fp32, {-1, 4})}), echo);
    const error e = error_of([&] { probe_batching(fixed, mode::on); });
    CHECK(e.code == errc::invalid_request);
    CHECK(mentions(e, "input 'x' is fixed to 1"));
    CHECK_FALSE(probe_batching(fixed, mode::automatic).batchable);
}

TEST_CASE("what the backend knows need not be tried") {
    fake_model model(simple_spec(), centred);
    model.independent = true;
    CHECK(probe_batching(model, mode::automatic).batchable);
    model.independent = false;
    CHECK_FALSE(probe_batching(model, mode::automatic).batchable);
    CHECK(model.rows.empty());
}
