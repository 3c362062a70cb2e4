#include <doctest/doctest.h>

#include "core/drain_rate.hpp"

using namespace asio_infer;
using namespace std::chrono_literals;

namespace {
constexpr time_point t0{1h};
}

TEST_CASE("a drain rate that has seen nothing says one second") {
    drain_rate rate;
    CHECK(rate.seconds_for(1e9, t0) == 1);
    rate.record(10, t0);
    CHECK(rate.seconds_for(1e9, t0) == 1);
}

TEST_CASE("a steady drain is known within a second, and stays known") {
    drain_rate rate;
    for (int i = 0; i < 600; ++i) {
        const time_point now = t0 + i * 50ms;
        rate.record(5, now);  // 100 in a second
        if (i < 20) continue;
        CHECK(rate.seconds_for(50, now) == 1);
        CHECK(rate.seconds_for(1'000, now) >= 8);
        CHECK(rate.seconds_for(1'000, now) <= 11);
    }
}

TEST_CASE("a drain that has stopped takes longer and longer, within a limit") {
    drain_rate rate;
    for (int i = 0; i < 100; ++i) rate.record(10, t0 + i * 100ms);
    const std::uint32_t first = rate.seconds_for(100, t0 + 10s);
    CHECK(first <= 2);
    const std::uint32_t later = rate.seconds_for(100, t0 + 20s);
    CHECK(later > first);
    CHECK(rate.seconds_for(100, t0 + 1h) == drain_rate::most_seconds);
    CHECK(rate.seconds_for(1e300, t0 + 1h) == drain_rate::most_seconds);
}
