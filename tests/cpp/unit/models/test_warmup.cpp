#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "models/warmup.hpp"
#include "support/backend_fixture.hpp"
#include "unit/models/fake_model.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;

namespace {

model_spec simple_spec() {
    return describe_model({describe("x", dtype::fp32, {-1, 4})}, {describe("y", dtype::fp32, {-1, 4})});
}

result<std::vector<tensor>> echo(const std::vector<tensor>& inputs) { return inputs; }

}  // namespace

TEST_CASE("an unbatched model is warmed with one row, and the runtime's time is given") {
    fake_model model(simple_spec(), echo);
    model.run_time = std::chrono::milliseconds(3);
    const warmup_result warm = warm_up(model, 0);
    CHECK(warm.one_row_s == doctest::Approx(0.003));
    CHECK(warm.full_batch_s == 0);
    CHECK(warm.warning.empty());
    for (const std::uint32_t rows : model.rows) CHECK(rows == 1);
}

TEST_CASE("a batched model is warmed with one row and with a full batch, on every instance") {
    fake_model model(simple_spec(), echo);
    model.instances = 3;
    model.run_time = std::chrono::milliseconds(100);
    const warmup_result warm = warm_up(model, 32);
    CHECK(warm.full_batch_s == doctest::Approx(0.1));
    CHECK(model.rows == std::vector<std::uint32_t>{1, 1, 1, 32, 32, 32});
    CHECK(model.instances_used == std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2});
}

TEST_CASE("a model that does not run with made-up inputs is a warning") {
    fake_model model(simple_spec(), [](const std::vector<tensor>& inputs) -> result<std::vector<tensor>> {
        if (inputs[0].shape[0] > 1) return error{errc::model_error, "only one row, please"};
        return inputs;
    });
    const warmup_result warm = warm_up(model, 8);
    CHECK(warm.warning == "a run of 8 made-up row(s) failed: only one row, please");
    CHECK(warm.full_batch_s == 0);
}

TEST_CASE("a batch that is too large to make up is left out in silence") {
    fake_model model(
        describe_model({describe("x", dtype::fp32, {-1, 1 << 20})}, {describe("y", dtype::fp32, {-1, 1 << 20})}), echo);
    const warmup_result warm = warm_up(model, 1'000'000);
    CHECK(warm.warning.empty());
    CHECK(warm.full_batch_s == 0);
}

TEST_CASE("a full batch of a slow model is left to the first requests") {
    fake_model model(simple_spec(), echo);
    model.run_time = std::chrono::seconds(1);
    const warmup_result warm = warm_up(model, 32);
    CHECK(model.rows == std::vector<std::uint32_t>{1});
    CHECK(warm.one_row_s == doctest::Approx(1));
    CHECK(warm.full_batch_s == 0);
}

TEST_CASE("a model that is not slower at first is not run") {
    fake_model model(simple_spec(), echo);
    model.slow_at_first = false;
    const warmup_result warm = warm_up(model, 32);
    CHECK(model.rows.empty());
    CHECK(warm.one_row_s == 0);
    CHECK(warm.warning.empty());
}
