#include <doctest/doctest.h>

#include <chrono>

#include "support/backend_fixture.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;

namespace {

struct identity_fixture {
    collecting_log log;
    thread_executor workers;
    runtime_options runtime;

    std::unique_ptr<backend_model> load(const std::string& delay_s) {
        model_options o;
        o.backend_options = {{"delay_s", delay_s}};
        return make_backend_model("identity", o, {runtime, workers, log});
    }
};

}  // namespace

TEST_CASE_FIXTURE(identity_fixture, "a delayed run takes its time and does not block its caller") {
    const auto model = load("0.05");
    const auto call = make_call({floats({1, 1}, {1})});
    waiting_job waiting({call.get()}, {0}, false);
    model->instance(0).async_run(waiting.job);
    CHECK_FALSE(waiting.is_done());
    REQUIRE(waiting.wait());
    CHECK(waiting.job.compute_ended - waiting.job.compute_started >= std::chrono::milliseconds(50));
}

TEST_CASE_FIXTURE(identity_fixture, "a delayed run ends when it is cancelled, and the next one is not") {
    const auto slow = load("3600");
    const auto call = make_call({floats({1, 1}, {1})});
    for (int round = 0; round < 100; ++round) {
        waiting_job waiting({call.get()}, {0}, false);
        slow->instance(0).async_run(waiting.job);
        slow->instance(0).cancel();
        REQUIRE(waiting.wait().has_error());
        CHECK(waiting.job.outcome.error().code == errc::cancelled);
    }
    const auto quick = load("0.001");
    quick->instance(0).cancel();
    CHECK(run_alone(*quick, {floats({1, 1}, {1})}));
}
