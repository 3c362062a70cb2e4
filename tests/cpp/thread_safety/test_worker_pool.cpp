#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/worker_pool.hpp"
#include "support/together.hpp"

using namespace asio_infer;
using asio_infer::testing::run_together;

namespace {

struct counting_task final : task {
    void run() noexcept override {
        if (pool != nullptr && !pool->here()) wrong_place.fetch_add(1);
        runs.fetch_add(1);
        if (again > 0) {
            --again;
            pool->post(*this);
        }
    }
    worker_pool* pool = nullptr;
    int again = 0;  ///< how often it posts itself, each time from inside its run
    std::atomic<int> runs{0};
    static inline std::atomic<int> wrong_place{0};
};

}  // namespace

TEST_CASE("worker_pool: tasks of many threads each run once, on a worker, before the pool ends") {
    constexpr std::size_t posters = 4;
    constexpr std::size_t tasks = 2'000;
    counting_task::wrong_place = 0;
    std::vector<counting_task> all(posters * tasks);
    {
        worker_pool pool(3);
        CHECK_FALSE(pool.here());
        run_together(posters, [&](std::size_t p) {
            for (std::size_t i = p; i < all.size(); i += posters) {
                all[i].pool = &pool;
                pool.post(all[i]);
            }
        });
    }
    for (const counting_task& each : all) CHECK(each.runs == 1);
    CHECK(counting_task::wrong_place == 0);
}

TEST_CASE("worker_pool: tasks may post themselves, also while the pool ends") {
    for (int round = 0; round < 50; ++round) {
        std::vector<counting_task> all(8);
        {
            worker_pool pool(4);
            for (counting_task& each : all) {
                each.pool = &pool;
                each.again = 20;
                pool.post(each);
            }
        }
        for (const counting_task& each : all) CHECK(each.runs == 21);
    }
}

TEST_CASE("worker_pool: the capacity changes while tasks come") {
    std::vector<counting_task> all(2'000);
    {
        worker_pool pool(1);
        run_together(3, [&](std::size_t thread) {
            if (thread > 0) {
                for (std::size_t i = thread - 1; i < all.size(); i += 2) pool.post(all[i]);
                return;
            }
            for (int i = 0; i < 200; ++i) {
                pool.add_capacity(2);
                pool.remove_capacity(2);
            }
        });
    }
    for (const counting_task& each : all) CHECK(each.runs == 1);
}

namespace {

/// Ends only when as many run at once as it is told.
struct meeting_task final : task {
    explicit meeting_task(std::barrier<>& b) : meeting(b) {}
    void run() noexcept override { meeting.arrive_and_wait(); }
    std::barrier<>& meeting;
};

}  // namespace

TEST_CASE("worker_pool: tasks that block get a thread each, up to the capacity") {
    constexpr int count = 6;
    std::barrier meeting(count);
    std::vector<meeting_task> all(count, meeting_task(meeting));
    worker_pool pool(2);
    pool.add_capacity(4);
    for (meeting_task& each : all) pool.post(each);
}
