#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include "runtime/timer_thread.hpp"
#include "support/together.hpp"

using namespace asio_infer;
using namespace std::chrono_literals;
using asio_infer::testing::run_together;

TEST_CASE("timer_thread: alarms ring, not before their time, the earliest first") {
    std::vector<int> order;  // written on the timer's thread
    std::promise<void> last;
    time_point rang{};
    timer_thread timers;
    const time_point start = clock::now();
    const auto late = timers.make_alarm([&] {
        order.push_back(2);
        rang = clock::now();
        last.set_value();
    });
    const auto soon = timers.make_alarm([&] { order.push_back(1); });
    late->set(start + 40ms);
    soon->set(start + 20ms);
    last.get_future().wait();
    CHECK(order == std::vector<int>{1, 2});
    CHECK(rang >= start + 40ms);
}

TEST_CASE("timer_thread: a new setting replaces the one before, sooner or later") {
    std::atomic<int> rings{0};
    std::promise<void> other;
    std::promise<void> rang;
    timer_thread timers;
    const auto moved = timers.make_alarm([&] { rings.fetch_add(1); });
    const auto marker = timers.make_alarm([&] { other.set_value(); });
    moved->set(clock::now() + 10ms);
    moved->set(clock::now() + 1h);
    marker->set(clock::now() + 30ms);
    other.get_future().wait();
    CHECK(rings == 0);

    const auto sooner = timers.make_alarm([&] { rang.set_value(); });
    sooner->set(clock::now() + 1h);
    sooner->set(clock::now());
    rang.get_future().wait();
}

TEST_CASE("timer_thread: alarms are set and destroyed by many threads while they ring") {
    constexpr std::size_t threads = 4;
    std::atomic<int> rings{0};
    std::promise<void> alive;
    timer_thread timers;
    run_together(threads, [&](std::size_t t) {
        for (int i = 0; i < 500; ++i) {
            const auto guard = std::make_shared<int>(i);
            const auto one = timers.make_alarm([&rings, weak = std::weak_ptr(guard)] {
                if (weak.lock()) rings.fetch_add(1);
            });
            one->set(clock::now());
            if (i % 2 == 0) one->set(clock::now() + std::chrono::microseconds(t * 50));
            if (i % 5 == 0) one->set(clock::now() + 1h);
        }
    });
    const auto after = timers.make_alarm([&] { alive.set_value(); });
    after->set(clock::now());
    alive.get_future().wait();
    CHECK(rings <= static_cast<int>(threads) * 500);
}

TEST_CASE("timer_thread: one alarm is set by many threads") {
    std::promise<void> rang;
    std::atomic<bool> once{false};
    timer_thread timers;
    const auto shared = timers.make_alarm([&] {
        if (!once.exchange(true)) rang.set_value();
    });
    run_together(4, [&](std::size_t) {
        for (int i = 0; i < 500; ++i) shared->set(clock::now() + 1ms);
    });
    rang.get_future().wait();
}

TEST_CASE("timer_thread: an alarm may be destroyed by its own ring, and set again by it") {
    std::promise<void> gone;
    std::promise<void> third;
    std::promise<void> ready;
    int rings = 0;
    timer_thread timers;
    std::unique_ptr<asio_infer::alarm> own;
    std::shared_future<void> made = ready.get_future().share();
    own = timers.make_alarm([&, made] {
        made.wait();
        own.reset();
        gone.set_value();
    });
    own->set(clock::now());
    ready.set_value();
    gone.get_future().wait();
    CHECK(own == nullptr);

    std::unique_ptr<asio_infer::alarm> repeating;
    repeating = timers.make_alarm([&] {
        if (++rings == 3)
            third.set_value();
        else
            repeating->set(clock::now());
    });
    repeating->set(clock::now());
    third.get_future().wait();
    CHECK(rings == 3);
}

TEST_CASE("timer_thread: alarms that are still set never ring after the end") {
    std::atomic<int> rings{0};
    for (int i = 0; i < 50; ++i) {
        timer_thread timers;
        for (int k = 0; k < 5; ++k) timers.make_alarm([&] { rings.fetch_add(1); })->set(clock::now() + 1h);
        const auto kept = timers.make_alarm([&] { rings.fetch_add(1); });
        kept->set(clock::now() + 1h);
    }
    CHECK(rings == 0);
}
