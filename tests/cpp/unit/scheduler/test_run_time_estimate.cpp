#include <doctest/doctest.h>

#include "scheduler/run_time_estimate.hpp"

using namespace asio_infer;
using namespace std::chrono_literals;

TEST_CASE("a model is short once three runs say so") {
    run_time_estimate estimate(250us);
    estimate.record(10us);
    estimate.record(10us);
    CHECK_FALSE(estimate.short_enough());
    estimate.record(10us);
    CHECK(estimate.short_enough());
}

TEST_CASE("one run in a hundred may be longer, not two") {
    run_time_estimate estimate(250us);
    for (int i = 0; i < 198; ++i) estimate.record(10us);
    estimate.record(300us);
    estimate.record(300us);
    CHECK(estimate.short_enough());
    estimate.record(300us);
    CHECK_FALSE(estimate.short_enough());
}

TEST_CASE("a very long run closes the door for the next thousand") {
    run_time_estimate estimate(250us);
    for (int i = 0; i < 1'000; ++i) estimate.record(10us);
    estimate.record(3ms);
    for (int i = 0; i < 999; ++i) {
        estimate.record(10us);
        CHECK_FALSE(estimate.short_enough());
    }
    estimate.record(10us);
    CHECK(estimate.short_enough());
}

TEST_CASE("a model that becomes short is believed again, as old runs fade") {
    run_time_estimate estimate(250us);
    for (int i = 0; i < 1'000; ++i) estimate.record(300us);
    int runs = 0;
    while (!estimate.short_enough() && runs < 100'000) {
        estimate.record(10us);
        ++runs;
    }
    CHECK(runs > 1'000);
    CHECK(runs < 20'000);
}

TEST_CASE("a limit of zero allows nothing") {
    run_time_estimate estimate(0us);
    for (int i = 0; i < 10; ++i) estimate.record(1us);
    CHECK_FALSE(estimate.short_enough());
}
