#include <doctest/doctest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/scheduler.hpp"

using namespace asio_infer;
using namespace std::chrono_literals;

namespace {

/// A network thread that runs its tasks when the test says so.
struct manual_executor final : task_executor {
    void post(task& work) noexcept override { posted.push_back(&work); }
    bool here() const noexcept override { return true; }
    void run_all() {
        while (!posted.empty()) {
            task* next = posted.front();
            posted.pop_front();
            next->run();
        }
    }
    std::deque<task*> posted;
};

struct manual_alarms final : alarm_factory {
    struct one final : asio_infer::alarm {
        explicit one(time_point& at) : when(at) {}
        void set(time_point at) noexcept override { when = at; }
        time_point& when;
    };
    struct state {
        std::function<void()> ring;
        time_point set_to{};
    };
    std::unique_ptr<asio_infer::alarm> make_alarm(std::function<void()> on_ring) override {
        made.push_back({std::move(on_ring), {}});
        return std::make_unique<one>(made.back().set_to);
    }
    state& of_queue() { return made.at(0); }
    state& of_runs() { return made.at(1); }
    std::deque<state> made;  ///< in the order in which a scheduler makes them
};

/// Doubles INT32 rows of width 1. Holds its jobs until they are let go, unless they run inline.
struct doubling_model final : backend_model, backend_instance {
    const model_spec& spec() const noexcept override { return own_spec; }
    std::uint32_t instance_count() const noexcept override { return 1; }
    backend_instance& instance(std::uint32_t) noexcept override { return *this; }
    void async_run(run_job& job) noexcept override {
        batches.push_back(job.rows);
        if (on_start) on_start();
        if (job.run_inline)
            finish(job);
        else
            held = &job;
    }
    void release() { finish(*std::exchange(held, nullptr)); }
    void cancel() noexcept override { interrupted = held != nullptr; }
    void finish(run_job& job) {
        job.compute_started = job.compute_ended = clock::now();
        unique_buffer out(job.rows * 4);
        std::size_t row = 0;
        for (const infer_call* member : job.members)
            for (std::uint32_t i = 0; i < member->rows; ++i, ++row) {
                std::int32_t value = 0;
                std::memcpy(&value, member->inputs[0]->data.data() + 4 * i, 4);
                if (value == poison) {
                    job.outcome = error{errc::model_error, "poison"};
                    return job.receiver->on_run_done(job);
                }
                value *= 2;
                std::memcpy(out.data() + 4 * row, &value, 4);
            }
        const auto rows = static_cast<std::int64_t>(job.rows + extra_rows);
        job.outcome = std::vector<tensor>{{dtype::int32, {rows, 1}, std::move(out).share()}};
        job.receiver->on_run_done(job);
    }
    model_spec own_spec;
    std::vector<std::uint32_t> batches;
    run_job* held = nullptr;
    std::int32_t poison = -1;
    std::uint32_t extra_rows = 0;
    bool interrupted = false;
    std::function<void()> on_start;
};

/// Stands in for the run's end after it was stopped.
void end_stopped(doubling_model& model) {
    run_job& job = *std::exchange(model.held, nullptr);
    job.outcome = error{errc::cancelled, "cancelled"};
    job.receiver->on_run_done(job);
}

struct receiver final : call_receiver {
    void deliver(infer_call_ptr call) noexcept override { done.push_back(std::move(call)); }
    std::string outcome(std::size_t i) const {
        const infer_call& call = *done[i];
        if (!call.outcome) return call.outcome.error().message;
        std::int32_t value = 0;
        std::memcpy(&value, call.outcome->at(0).data.data(), 4);
        return call.request.id + "=" + std::to_string(value);
    }
    std::vector<std::string> outcomes() const {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < done.size(); ++i) all.push_back(outcome(i));
        return all;
    }
    std::vector<errc> codes() const {
        std::vector<errc> all;
        for (const infer_call_ptr& each : done) all.push_back(each->outcome.error().code);
        return all;
    }
    std::vector<infer_call_ptr> done;
};

struct fixture {
    explicit fixture(batcher_limits limits = {.max_rows = 8, .max_queue = 4}, bool fast = false) {
        auto owned = std::make_unique<doubling_model>();
        model = owned.get();
        model_spec spec;
        spec.name = "double";
        spec.max_batch_rows = limits.max_rows;
        spec.max_queue_size = limits.max_queue;
        spec.outputs.resize(1);
        spec.outputs[0].name = "y";
        scheduler_options options{limits, 250us, fast ? std::vector<double>{1e-6, 1e-6, 1e-6} : std::vector<double>{}};
        served = scheduler::make(spec, std::move(owned), options, alarms, workers);
        served->open();
    }
    ~fixture() {
        answers.done.clear();  // calls keep their model
        served.reset();
        workers.run_all();
    }
    void submit(std::string id, std::int32_t value, bool from_network = true, bool waits = false,
                call_receiver* to = nullptr, time_point deadline = no_deadline) {
        auto call = std::make_unique<infer_call>();
        unique_buffer data(4);
        std::memcpy(data.data(), &value, 4);
        call->request.id = std::move(id);
        call->request.inputs.push_back({"x", {dtype::int32, {1, 1}, std::move(data).share()}, {}});
        call->inputs.push_back(&call->request.inputs[0].value);
        call->outputs.push_back({0, false, 0});
        call->receiver = to != nullptr ? to : &answers;
        call->deadline = deadline;
        call->model = served;
        call->arrived = clock::now();
        served->submit(std::move(call), from_network ? &home : nullptr, waits);
    }
    manual_alarms alarms;
    manual_executor home, workers;
    receiver answers;
    doubling_model* model = nullptr;
    std::shared_ptr<scheduler> served;
};

using texts = std::vector<std::string>;

}  // namespace

TEST_CASE("the requests of one turn share a run, and each gets its own rows") {
    fixture f;
    f.submit("a", 1);
    f.submit("b", 2);
    f.submit("c", 3);
    CHECK(f.model->batches.empty());
    f.home.run_all();
    REQUIRE(f.model->held != nullptr);
    f.model->release();
    CHECK(f.model->batches == std::vector<std::uint32_t>{3});
    CHECK(f.answers.outcomes() == texts{"a=2", "b=4", "c=6"});
    CHECK(f.served->stats().success.count == 3);
    CHECK(f.served->stats().executions == 1);
    CHECK(f.served->stats().pending == 0);
    CHECK(f.served->stats().running == 0);
}

TEST_CASE("a short model runs inline at the end of the turn, a long one does not") {
    fixture f({.max_rows = 8, .max_queue = 4}, true);
    f.submit("a", 1);
    f.home.run_all();
    CHECK(f.answers.outcomes() == texts{"a=2"});
    fixture slow;
    slow.submit("a", 1);
    slow.home.run_all();
    CHECK(slow.answers.done.empty());
    slow.model->release();
}

TEST_CASE("a caller that waits runs its own request if it is short") {
    fixture fast({.max_rows = 8, .max_queue = 4}, true);
    fast.submit("a", 5, false, true);
    CHECK(fast.answers.outcomes() == texts{"a=10"});
    fixture slow;
    slow.submit("a", 5, false, true);
    CHECK(slow.answers.done.empty());
    slow.model->release();
}

TEST_CASE("after a run, what has waited forms the next batch") {
    fixture f;
    f.submit("a", 1);
    f.home.run_all();
    for (int i = 0; i < 3; ++i) f.submit("w", i);
    CHECK(f.served->stats().pending == 3);
    f.model->release();
    REQUIRE(f.model->held != nullptr);
    f.model->release();
    CHECK(f.model->batches == std::vector<std::uint32_t>{1, 3});
    CHECK(f.answers.done.size() == 4);
}

TEST_CASE("a bad row harms only itself") {
    fixture f;
    f.model->poison = 13;
    for (std::int32_t value : {12, 13, 14}) f.submit(std::to_string(value), value);
    f.home.run_all();
    for (int i = 0; i < 4; ++i) f.model->release();
    CHECK(f.model->batches == std::vector<std::uint32_t>{3, 1, 1, 1});
    CHECK(f.answers.outcomes() == texts{"12=24", "poison", "14=28"});
    CHECK(f.served->stats().success.count == 2);
    CHECK(f.served->stats().failures[static_cast<std::size_t>(errc::model_error)] == 1);
}

TEST_CASE("outputs without a row for each input row are not shared out") {
    fixture f;
    f.model->extra_rows = 1;
    f.submit("a", 1);
    f.submit("b", 2);
    f.home.run_all();
    f.model->release();
    CHECK(f.answers.done.empty());
    f.model->release();
    f.model->release();
    CHECK(f.answers.outcomes() == texts{"a=2", "b=4"});
}

TEST_CASE("a full queue refuses at once, and the refused call comes back") {
    fixture f({.max_rows = 1, .max_queue = 4});
    f.submit("plug", 0);
    f.home.run_all();
    for (int i = 0; i < 6; ++i) f.submit("q", i);
    REQUIRE(f.answers.done.size() == 2);
    CHECK(f.answers.done[0]->outcome.error().code == errc::queue_full);
    CHECK(f.answers.outcome(0).find("4 requests wait") != std::string::npos);
    while (f.model->held != nullptr) f.model->release();
    CHECK(f.answers.done.size() == 7);
}

TEST_CASE("a waiting call that is cancelled never runs") {
    fixture f;
    receiver leaver;
    f.submit("a", 1);
    f.home.run_all();
    f.submit("b", 2, true, false, &leaver);
    f.served->cancel(leaver);
    CHECK(leaver.codes() == std::vector{errc::cancelled});
    CHECK(f.served->stats().pending == 0);
    f.model->release();
    CHECK(f.answers.outcomes() == texts{"a=2"});
    CHECK(f.model->batches == std::vector<std::uint32_t>{1});
}

TEST_CASE("a running call that is cancelled comes back at once, and its run is stopped") {
    fixture f;
    receiver leaver;
    f.submit("a", 1, true, false, &leaver);
    f.home.run_all();
    f.served->cancel(leaver);
    CHECK(leaver.codes() == std::vector{errc::cancelled});
    CHECK(leaver.done[0]->request.id == "a");
    CHECK(f.model->interrupted);
    // The slot belongs to the work: the next call waits for the run's end.
    CHECK(f.served->stats().running == 1);
    f.submit("b", 2);
    f.home.run_all();
    CHECK(f.model->batches.size() == 1);
    f.served->cancel(leaver);
    end_stopped(*f.model);
    CHECK(leaver.done.size() == 1);
    CHECK(f.served->stats().running == 1);
    f.model->release();
    CHECK(f.answers.outcomes() == texts{"b=4"});
    CHECK(f.served->stats().running == 0);
    CHECK(f.served->stats().success.count == 1);
    CHECK(f.served->stats().failures[static_cast<std::size_t>(errc::cancelled)] == 1);
}

TEST_CASE("a run goes on as long as one of its callers waits") {
    fixture f;
    receiver first, second;
    f.submit("a", 1, true, false, &first);
    f.submit("b", 2);
    f.submit("c", 3, true, false, &second);
    f.home.run_all();
    f.served->cancel(first);
    f.served->cancel(second);
    CHECK_FALSE(f.model->interrupted);
    f.model->release();
    CHECK(f.answers.outcomes() == texts{"b=4"});
    CHECK(first.codes() == std::vector{errc::cancelled});
    CHECK(second.codes() == std::vector{errc::cancelled});
    CHECK(f.served->stats().running == 0);
}

TEST_CASE("a run whose last caller leaves before it has begun is stopped as it begins") {
    fixture f;
    receiver leaver;
    f.model->on_start = [&] { f.served->cancel(leaver); };
    f.model->interrupted = false;
    f.submit("a", 1, true, false, &leaver);
    f.home.run_all();
    CHECK(leaver.codes() == std::vector{errc::cancelled});
    CHECK(f.model->interrupted);
    end_stopped(*f.model);
    CHECK(f.served->stats().running == 0);
}

TEST_CASE("those that leave a failed batch are not run alone") {
    fixture f;
    f.model->poison = 3;
    receiver leaver, late_leaver;
    f.submit("a", 1, true, false, &leaver);
    f.submit("b", 2);
    f.submit("c", 3);
    f.submit("d", 4, true, false, &late_leaver);
    f.home.run_all();
    f.served->cancel(leaver);
    f.model->release();  // fails: b, c and d are to be run alone
    CHECK(f.served->stats().running == 3);
    f.served->cancel(late_leaver);
    CHECK(late_leaver.codes() == std::vector{errc::cancelled});
    while (f.model->held != nullptr) f.model->release();
    CHECK(f.answers.outcomes() == texts{"b=4", "poison"});
    CHECK(f.model->batches == std::vector<std::uint32_t>{4, 1, 1});
    CHECK(f.served->stats().running == 0);
}

TEST_CASE("the deadline of a call that runs is answered when it comes, and the run is stopped") {
    fixture f;
    const time_point soon = clock::now() + 1h;
    f.submit("a", 1, true, false, nullptr, soon);
    f.home.run_all();
    CHECK(f.alarms.of_runs().set_to == soon);
    f.alarms.of_runs().ring();  // too early: nothing has run out
    CHECK(f.answers.done.empty());
    f.served->cancel(f.answers);
    end_stopped(*f.model);

    receiver late;
    f.submit("b", 2, true, false, &late, clock::now() + 1ms);
    f.submit("c", 3);
    f.home.run_all();
    while (late.done.empty()) f.alarms.of_runs().ring();
    CHECK(late.codes() == std::vector{errc::deadline_exceeded});
    CHECK(f.answers.done.size() == 1);
    f.model->interrupted = false;
    f.model->release();
    CHECK(f.answers.outcome(1) == "c=6");
    CHECK_FALSE(f.model->interrupted);
    CHECK(f.served->stats().failures[static_cast<std::size_t>(errc::deadline_exceeded)] == 1);
}

TEST_CASE("a run that closing interrupts is answered with why the model was closed") {
    fixture f;
    f.submit("a", 1);
    f.submit("b", 2);
    f.home.run_all();
    f.submit("c", 3);
    f.served->close({errc::unavailable, "stopping"}, true);
    CHECK(f.model->interrupted);
    run_job& job = *std::exchange(f.model->held, nullptr);
    job.outcome = error{errc::cancelled, "cancelled"};
    job.receiver->on_run_done(job);
    CHECK(f.answers.outcomes() == texts{"stopping", "stopping", "stopping"});
    CHECK(f.model->held == nullptr);
    CHECK(f.served->stats().running == 0);
}

TEST_CASE("an interruption ends the members of a failed batch that have not run alone yet") {
    fixture f;
    f.model->poison = 2;
    for (const int value : {1, 2, 3}) f.submit(std::to_string(value), value);
    f.home.run_all();
    f.model->release();  // the batch fails; the first of its members runs alone
    REQUIRE(f.model->batches.back() == 1);
    f.served->close({errc::unavailable, "stopping"}, true);
    run_job& job = *std::exchange(f.model->held, nullptr);
    job.outcome = error{errc::cancelled, "cancelled"};
    job.receiver->on_run_done(job);
    CHECK(f.answers.outcomes() == texts{"stopping", "stopping", "stopping"});
    CHECK(f.model->held == nullptr);
    CHECK(f.served->stats().running == 0);
    CHECK(f.served->stats().pending == 0);
}

TEST_CASE("closing answers what waits; what runs ends normally") {
    fixture f;
    f.submit("a", 1);
    f.home.run_all();
    f.submit("b", 2);
    f.served->close({errc::unavailable, "stopping"}, false);
    CHECK(f.answers.outcomes() == texts{"stopping"});
    f.submit("c", 3);
    CHECK(f.answers.outcomes() == texts{"stopping", "stopping"});
    CHECK_FALSE(f.model->interrupted);
    f.model->release();
    CHECK(f.answers.outcome(2) == "a=2");
    f.served->open();
    f.submit("d", 4, false, true);
    f.model->release();
    CHECK(f.answers.outcome(3) == "d=8");
}

TEST_CASE("a queue timeout is answered when the alarm rings") {
    fixture f({.max_rows = 8, .max_queue = 4, .queue_timeout = 1ns});
    f.submit("a", 1, false);
    f.submit("b", 2, false);
    const std::size_t before = f.answers.done.size();
    f.alarms.of_queue().ring();
    CHECK(f.answers.done.size() >= before);
    REQUIRE_FALSE(f.answers.done.empty());
    CHECK(f.answers.done.back()->outcome.error().code == errc::deadline_exceeded);
    if (f.model->held != nullptr) f.model->release();
    CHECK(f.served->stats().pending == 0);
}

TEST_CASE("the model lives until its last call and its posted turn have ended") {
    fixture f;
    f.submit("a", 1);
    const std::weak_ptr<scheduler> weak = f.served;
    f.served.reset();
    CHECK_FALSE(weak.expired());
    f.home.run_all();
    f.model->release();
    f.answers.done.clear();
    CHECK(weak.expired());
    CHECK(f.workers.posted.size() == 1);
}
