#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/gather.hpp"
#include "runtime/io_thread.hpp"
#include "runtime/timer_thread.hpp"
#include "runtime/worker_pool.hpp"
#include "scheduler/scheduler.hpp"
#include "support/server_fixture.hpp"
#include "support/together.hpp"

using namespace asio_infer;
using namespace std::chrono_literals;
using asio_infer::testing::eventually;
using asio_infer::testing::run_together;

namespace {

constexpr std::int32_t poison = -1;

/// Echoes INT32 rows on the workers, or inside the call when it may. A run with a poisoned row fails. Checks that no
/// instance runs two jobs at once.
class fast_model final : public backend_model {
public:
    fast_model(task_executor& workers, std::uint32_t instances, std::atomic<int>& overlaps) {
        for (std::uint32_t i = 0; i < instances; ++i) instances_.push_back(std::make_unique<one>(workers, overlaps));
    }
    const model_spec& spec() const noexcept override { return spec_; }
    std::uint32_t instance_count() const noexcept override { return static_cast<std::uint32_t>(instances_.size()); }
    backend_instance& instance(std::uint32_t i) noexcept override { return *instances_[i]; }

private:
    struct one final : backend_instance, task {
        one(task_executor& w, std::atomic<int>& o) : workers(w), overlaps(o) {}
        void async_run(run_job& started) noexcept override {
            if (job.exchange(&started) != nullptr) overlaps.fetch_add(1);
            if (started.run_inline)
                run();
            else
                workers.post(*this);
        }
        void cancel() noexcept override { cancelled = true; }
        void run() noexcept override {
            run_job& mine = *job.exchange(nullptr);
            mine.compute_started = mine.compute_ended = clock::now();
            std::vector<const tensor*> rows;
            bool poisoned = false;
            for (const infer_call* member : mine.members) {
                rows.push_back(member->inputs[0]);
                std::int32_t value = 0;
                std::memcpy(&value, member->inputs[0]->data.data(), sizeof value);
                poisoned = poisoned || value == poison;
            }
            if (cancelled.exchange(false))
                mine.outcome = error{errc::cancelled, "interrupted"};
            else if (poisoned)
                mine.outcome = error{errc::model_error, "poisoned"};
            else
                mine.outcome = std::vector<tensor>{gather_rows(rows)};
            mine.receiver->on_run_done(mine);
        }
        task_executor& workers;
        std::atomic<int>& overlaps;
        std::atomic<run_job*> job{nullptr};
        std::atomic<bool> cancelled{false};
    };

    model_spec spec_;
    std::vector<std::unique_ptr<one>> instances_;
};

/// Counts what comes back, by call and by outcome.
class tally final : public call_receiver {
public:
    explicit tally(std::size_t calls) : deliveries_(calls) {}
    void deliver(infer_call_ptr call) noexcept override {
        const auto number = static_cast<std::size_t>(std::stoi(call->request.id));
        if (!call->outcome) {
            failures_[static_cast<std::size_t>(call->outcome.error().code)].fetch_add(1);
        } else {
            std::int32_t value = 0;
            std::memcpy(&value, call->outcome->at(0).data.data(), sizeof value);
            const bool right = call->outcome->at(0).shape == shape{1, 1} && value == static_cast<std::int32_t>(number);
            (right ? right_ : wrong_).fetch_add(1);
        }
        call.reset();
        deliveries_[number].fetch_add(1);
        delivered_.fetch_add(1);
    }
    std::size_t delivered() const { return delivered_; }
    std::size_t right() const { return right_; }
    std::size_t wrong() const { return wrong_; }
    std::size_t failures(errc code) const { return failures_[static_cast<std::size_t>(code)]; }
    std::size_t all_failures() const {
        std::size_t sum = 0;
        for (const auto& each : failures_) sum += each;
        return sum;
    }
    bool each_once() const {
        return std::all_of(deliveries_.begin(), deliveries_.end(), [](const auto& n) { return n == 1; });
    }

private:
    std::vector<std::atomic<int>> deliveries_;
    std::atomic<std::size_t> delivered_{0}, right_{0}, wrong_{0};
    std::array<std::atomic<std::size_t>, errc_count> failures_{};
};

/// A receiver of its own for each call that may be cancelled.
class caller final : public call_receiver {
public:
    explicit caller(tally& all) : all_(&all) {}
    void deliver(infer_call_ptr call) noexcept override { all_->deliver(std::move(call)); }

private:
    tally* all_;
};

struct load {
    std::uint32_t max_rows = 8;
    std::uint32_t max_queue = 64;
    clock::duration max_delay{0};
    clock::duration queue_timeout{0};
    bool fast = false;  ///< so that runs happen on the submitting thread
};

struct fixture {
    fixture(const load& l, std::size_t calls) : answers(calls) {
        model_spec spec;
        spec.name = "fast";
        spec.max_batch_rows = l.max_rows;
        spec.max_queue_size = l.max_queue;
        spec.outputs.resize(1);
        spec.outputs[0].name = "y";
        const scheduler_options options{
            {l.max_rows, l.max_delay, l.max_queue, l.queue_timeout, 3},
            250us,
            l.fast ? std::vector<double>(3, 1e-6) : std::vector<double>{},
        };
        served = scheduler::make(std::move(spec), std::make_unique<fast_model>(workers, 3, overlaps), options, timers,
                                 workers);
        served->open();
        home.start();
    }
    ~fixture() {
        home.join();
        timers.stop();
    }

    infer_call_ptr make_call(std::size_t number, bool poisoned) {
        auto call = std::make_unique<infer_call>();
        unique_buffer data(4);
        const std::int32_t value = poisoned ? poison : static_cast<std::int32_t>(number);
        std::memcpy(data.data(), &value, sizeof value);
        call->request.id = std::to_string(number);
        call->request.inputs.push_back({"x", {dtype::int32, {1, 1}, std::move(data).share()}, {}});
        call->inputs.push_back(&call->request.inputs[0].value);
        call->outputs.push_back({0, false, 0});
        call->receiver = &answers;
        call->model = served;
        call->arrived = clock::now();
        return call;
    }
    /// All calls have come back, each once, and nothing is left behind.
    void check_all_back(std::size_t calls) {
        REQUIRE(eventually([&] { return answers.delivered() == calls; }));
        CHECK(answers.each_once());
        CHECK(answers.wrong() == 0);
        CHECK(answers.right() + answers.all_failures() == calls);
        CHECK(overlaps == 0);
        CHECK(eventually([&] { return served->stats().running == 0; }));
        CHECK(served->stats().pending == 0);
        CHECK(served->stats().success.count == answers.right());
        CHECK(served->stats().fail.count == answers.all_failures());
        CHECK(served->stats().inferences == answers.right());
    }

    tally answers;
    std::atomic<int> overlaps{0};
    timer_thread timers;
    worker_pool workers{3};
    io_thread home;
    std::shared_ptr<scheduler> served;
};

/// Submits calls from the network thread in turns of several, as a reactor does.
struct turns final : task {
    turns(fixture& fixture_, std::size_t first_, std::size_t last_) : f(fixture_), next(first_), last(last_) {}
    void run() noexcept override {
        for (int i = 0; i < 5 && next < last; ++i) {
            f.served->submit(f.make_call(next, next % 97 == 0), &f.home, false);
            ++next;
        }
        if (next < last) f.home.post(*this);
    }
    fixture& f;
    std::size_t next, last;
};

constexpr std::size_t per_thread = 2'000;

}  // namespace

TEST_CASE("scheduler: calls of network and other threads each come back once with their own rows") {
    for (const load& l : {load{}, load{.fast = true}, load{.max_rows = 0}, load{.max_delay = 200us},
                          load{.max_queue = 1}, load{.queue_timeout = 50us}}) {
        constexpr std::size_t calls = 4 * per_thread;
        fixture f(l, calls);
        turns network(f, 0, per_thread);
        f.home.post(network);
        run_together(3, [&](std::size_t t) {
            const std::size_t first = (t + 1) * per_thread;
            for (std::size_t i = first; i < first + per_thread; ++i)
                f.served->submit(f.make_call(i, i % 97 == 0), nullptr, t == 2);
        });
        f.check_all_back(calls);
        // Only the poisoned rows fail as such: a batch that failed is run again row by row.
        CHECK(f.answers.failures(errc::model_error) <= calls / 97 + 1);
        CHECK(f.answers.right() > 0);
        CHECK(f.answers.failures(errc::cancelled) == 0);
        if (l.queue_timeout == 0us) CHECK(f.answers.failures(errc::deadline_exceeded) == 0);
    }
}

TEST_CASE("scheduler: calls are cancelled while they are queued, run and come back") {
    constexpr std::size_t calls = 3 * per_thread;
    fixture f({.max_delay = 100us}, calls);
    std::vector<caller> callers(calls, caller(f.answers));
    turns network(f, 0, per_thread);
    f.home.post(network);
    run_together(2, [&](std::size_t t) {
        const std::size_t first = (t + 1) * per_thread;
        for (std::size_t i = first; i < first + per_thread; ++i) {
            infer_call_ptr call = f.make_call(i, false);
            call->receiver = &callers[i];
            call->deadline = i % 7 == 0 ? clock::now() + 50us : no_deadline;
            f.served->submit(std::move(call), nullptr, false);
            f.served->cancel(callers[i - i % 3]);
        }
    });
    f.check_all_back(calls);
}

TEST_CASE("scheduler: it is closed and opened while calls come") {
    constexpr std::size_t calls = 3 * per_thread;
    fixture f({.max_delay = 100us, .queue_timeout = 500us}, calls);
    turns network(f, 0, per_thread);
    f.home.post(network);
    std::atomic<bool> done{false};
    std::thread closer([&] {
        for (int i = 0; !done; ++i) {
            f.served->close({errc::unavailable, "closed"}, i % 2 == 0);
            std::this_thread::yield();
            f.served->open();
            std::this_thread::yield();
        }
        f.served->close({errc::unavailable, "closed"}, false);
    });
    run_together(2, [&](std::size_t t) {
        const std::size_t first = (t + 1) * per_thread;
        for (std::size_t i = first; i < first + per_thread; ++i)
            f.served->submit(f.make_call(i, i % 97 == 0), nullptr, false);
    });
    done = true;
    closer.join();
    f.check_all_back(calls);
}

TEST_CASE("scheduler: its last owner may be a call that runs or waits") {
    for (int round = 0; round < 50; ++round) {
        constexpr std::size_t calls = 40;
        fixture f({.max_delay = round % 2 == 0 ? 0us : 100us}, calls);
        for (std::size_t i = 0; i < calls; ++i) f.served->submit(f.make_call(i, false), nullptr, false);
        f.served.reset();
        REQUIRE(eventually([&] { return f.answers.delivered() == calls; }));
        CHECK(f.answers.each_once());
    }
}
