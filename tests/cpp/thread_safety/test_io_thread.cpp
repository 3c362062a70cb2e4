#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <vector>

#include "runtime/io_thread.hpp"
#include "support/together.hpp"

using namespace asio_infer;
using asio_infer::testing::run_together;

namespace {

/// What is written without a lock here is written on the one thread.
struct journal {
    std::vector<std::vector<int>> seen;  ///< by poster
    bool elsewhere = false;
    std::size_t left = 0;
    std::promise<void> complete;
};

struct numbered_task final : task {
    void run() noexcept override {
        if (!thread->here()) to->elsewhere = true;
        to->seen[poster].push_back(number);
        if (again > 0) {
            --again;
            thread->post(*this);
            return;
        }
        if (--to->left == 0) to->complete.set_value();
    }
    io_thread* thread = nullptr;
    journal* to = nullptr;
    std::size_t poster = 0;
    int number = 0;
    int again = 0;
};

}  // namespace

TEST_CASE("io_thread: posts of many threads run on it, each poster's in its order") {
    constexpr std::size_t posters = 4;
    constexpr int tasks = 3'000;
    journal notes;
    notes.seen.resize(posters);
    notes.left = posters * tasks;
    std::vector<std::vector<numbered_task>> all(posters);
    io_thread thread;
    for (std::size_t p = 0; p < posters; ++p) {
        all[p].resize(tasks);
        for (int i = 0; i < tasks; ++i) {
            numbered_task& each = all[p][static_cast<std::size_t>(i)];
            each.thread = &thread;
            each.to = &notes;
            each.poster = p;
            each.number = i;
        }
    }
    thread.start();
    CHECK_FALSE(thread.here());
    run_together(posters, [&](std::size_t p) {
        for (numbered_task& each : all[p]) thread.post(each);
    });
    notes.complete.get_future().wait();
    thread.join();
    CHECK_FALSE(notes.elsewhere);
    for (const auto& numbers : notes.seen) {
        REQUIRE(numbers.size() == tasks);
        for (int i = 0; i < tasks; ++i) CHECK(numbers[static_cast<std::size_t>(i)] == i);
    }
}

TEST_CASE("io_thread: tasks post themselves from their own run while others post, and join() waits for all") {
    for (int round = 0; round < 20; ++round) {
        constexpr std::size_t posters = 3;
        journal notes;
        notes.seen.resize(posters);
        notes.left = posters;
        std::vector<numbered_task> all(posters);
        io_thread thread;
        thread.start();
        run_together(posters, [&](std::size_t p) {
            all[p].thread = &thread;
            all[p].to = &notes;
            all[p].poster = p;
            all[p].again = 100;
            thread.post(all[p]);
        });
        thread.join();
        for (const auto& numbers : notes.seen) CHECK(numbers.size() == 101);
    }
}

TEST_CASE("io_thread: what was posted before start() runs after it; it may start again") {
    io_thread thread;
    for (int round = 0; round < 3; ++round) {
        journal notes;
        notes.seen.resize(1);
        notes.left = 1;
        numbered_task one;
        one.thread = &thread;
        one.to = &notes;
        thread.post(one);
        thread.start();
        notes.complete.get_future().wait();
        thread.join();
        CHECK(notes.seen[0].size() == 1);
    }
}
