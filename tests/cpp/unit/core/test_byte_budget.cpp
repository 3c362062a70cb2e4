#include <doctest/doctest.h>

#include <vector>

#include "core/byte_budget.hpp"

using namespace asio_infer;

namespace {

struct counting_waiter final : byte_budget::waiter {
    void room_made() noexcept override { ++calls; }
    int calls = 0;
};

}  // namespace

TEST_CASE("a lease takes and returns what it is resized to") {
    byte_budget budget(100);
    byte_lease lease(budget);
    CHECK(lease.resize(60));
    byte_lease other(budget);
    CHECK_FALSE(other.resize(41));
    CHECK(other.resize(40));
    CHECK(lease.resize(10));
    CHECK(budget.used() == 50);
    other.release();
    lease = byte_lease(budget);
    CHECK(budget.used() == 0);
}

TEST_CASE("who waits is called once there is room, first come, first served") {
    byte_budget budget(100);
    REQUIRE(budget.try_take(100));
    counting_waiter first, second;
    budget.wait(first, 50);
    budget.wait(second, 10);
    budget.give_back(40);
    CHECK(first.calls + second.calls == 0);
    budget.give_back(10);
    CHECK(first.calls == 1);
    CHECK(second.calls == 0);
    budget.give_back(10);
    CHECK(second.calls == 1);
    CHECK_FALSE(budget.forget(first));
}

TEST_CASE("room that is there when the wait begins ends it") {
    byte_budget budget(100);
    REQUIRE(budget.try_take(50));
    counting_waiter waiter;
    budget.wait(waiter, 50);
    CHECK(waiter.calls == 1);
}

TEST_CASE("who has been forgotten is not called") {
    byte_budget budget(100);
    REQUIRE(budget.try_take(100));
    counting_waiter waiter;
    budget.wait(waiter, 50);
    CHECK(budget.forget(waiter));
    budget.give_back(100);
    CHECK(waiter.calls == 0);
}

TEST_CASE("waiting ends when only half bodies hold bytes") {
    byte_budget budget(100);
    byte_lease half(budget);
    half.set_arriving(true);
    REQUIRE(half.resize(60));
    CHECK(budget.only_arriving());
    REQUIRE(budget.try_take(40));
    CHECK_FALSE(budget.only_arriving());
    counting_waiter waiter;
    budget.wait(waiter, 80);
    CHECK(waiter.calls == 0);
    budget.give_back(40);  // too little, and nothing more will come
    CHECK(waiter.calls == 1);
    half.set_arriving(false);
    CHECK_FALSE(budget.only_arriving());
    half.release();
    CHECK(budget.only_arriving());
}

TEST_CASE("when to try again follows from what was given back") {
    using namespace std::chrono_literals;
    byte_budget budget(1'000'000);
    time_point now{1h};
    CHECK(budget.seconds_until_free(1'000, now) == 1);
    for (int i = 0; i < 40; ++i) {
        REQUIRE(budget.try_take(1'000));
        budget.give_back(1'000);
        now += 100ms;  // 10,000 bytes in a second
        budget.seconds_until_free(1, now);
    }
    CHECK(budget.seconds_until_free(100'000, now) >= 8);
    CHECK(budget.seconds_until_free(100'000, now) <= 12);
    CHECK(budget.seconds_until_free(100'000, now + 1h) == 1);  // that was long ago
}
