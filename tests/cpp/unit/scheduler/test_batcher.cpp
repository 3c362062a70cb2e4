#include <doctest/doctest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "scheduler/batcher.hpp"

using namespace asio_infer;
using namespace std::chrono_literals;
using kind = batcher::action::kind;

namespace {

constexpr time_point t0{1h};

/// A call of one FP32 input [rows, width].
infer_call_ptr make_call(std::uint32_t rows, std::int64_t width = 4) {
    auto call = std::make_unique<infer_call>();
    call->request.inputs.resize(1);
    call->request.inputs[0].name = "x";
    call->request.inputs[0].value.shape = {rows, width};
    call->inputs.push_back(&call->request.inputs[0].value);
    call->rows = rows;
    return call;
}

/// Who a call belongs to, where nothing is delivered.
struct no_receiver final : call_receiver {
    void deliver(infer_call_ptr) noexcept override { FAIL_CHECK("a machine delivers nothing"); }
};

struct machine {
    explicit machine(batcher_limits limits) : batcher(limits) {}
    /// Admits a call of `rows` from a thread without a turn; the call, for comparing.
    const infer_call* add(std::uint32_t rows, time_point now = t0, std::int64_t width = 4,
                          call_receiver* receiver = nullptr) {
        infer_call_ptr call = make_call(rows, width);
        call->receiver = receiver;
        const infer_call* seen = call.get();
        return batcher.admit(call, now, false) ? seen : nullptr;
    }
    /// The rows of each member of the next batch; empty if the machine does not dispatch.
    std::vector<std::uint32_t> batch(time_point now = t0) {
        last = batcher.resume(now);
        std::vector<std::uint32_t> rows;
        if (last.what == kind::dispatch)
            for (const auto& member : last.members) rows.push_back(member->rows);
        return rows;
    }
    class batcher batcher;
    class batcher::action last;
};

using rows = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a request that finds an idle instance runs at once") {
    machine m({.max_rows = 8});
    m.add(1);
    CHECK(m.batch() == rows{1});
    CHECK(m.last.instance == 0);
    CHECK(m.batch().empty());
    CHECK(m.last.what == kind::wait);
}

TEST_CASE("what waits while the instance is busy forms the next batch") {
    machine m({.max_rows = 5});
    m.add(1);
    CHECK(m.batch() == rows{1});
    for (int i = 0; i < 7; ++i) m.add(1);
    CHECK(m.batch().empty());
    m.batcher.instance_idle(0);
    CHECK(m.batch() == rows{1, 1, 1, 1, 1});
    m.batcher.instance_idle(0);
    CHECK(m.batch() == rows{1, 1});
    CHECK(m.batcher.waiting() == 0);
}

TEST_CASE("limits count rows, and a request that does not fit does not hold up a smaller one") {
    machine m({.max_rows = 8});
    for (std::uint32_t n : {5, 5, 3, 8, 1}) m.add(n);
    CHECK(m.batch() == rows{5, 3});
    m.batcher.instance_idle(0);
    CHECK(m.batch() == rows{5, 1});
    m.batcher.instance_idle(0);
    CHECK(m.batch() == rows{8});
}

TEST_CASE("only calls that may share a run are joined, in order") {
    machine m({.max_rows = 8});
    m.add(1, t0, 4);
    m.add(1, t0, 7);
    m.add(2, t0, 4);
    CHECK(m.batch() == rows{1, 2});
    m.batcher.instance_idle(0);
    CHECK(m.batch() == rows{1});
}

TEST_CASE("parameters keep calls apart, wanted outputs do not") {
    machine m({.max_rows = 8});
    infer_call_ptr a = make_call(1), b = make_call(1), c = make_call(1);
    a->outputs.push_back({0, false, 0});
    b->outputs.push_back({1, true, 0});
    c->request.parameters.emplace_back("temperature", 0.5);
    for (infer_call_ptr* each : {&a, &b, &c}) REQUIRE(m.batcher.admit(*each, t0, false));
    CHECK(m.batch() == rows{1, 1});
    m.batcher.instance_idle(0);
    CHECK(m.batch() == rows{1});
}

TEST_CASE("a request without rows runs alone") {
    machine m({.max_rows = 8});
    m.add(0);
    m.add(3);
    CHECK(m.batch() == rows{0});
    m.batcher.instance_idle(0);
    CHECK(m.batch() == rows{3});
}

TEST_CASE("an unbatched model runs one request at a time, on each instance") {
    machine m({.max_rows = 0, .instances = 2});
    for (int i = 0; i < 3; ++i) m.add(1);
    CHECK(m.batch() == rows{1});
    CHECK(m.last.instance == 0);
    CHECK(m.batch() == rows{1});
    CHECK(m.last.instance == 1);
    CHECK(m.batch().empty());
    m.batcher.instance_idle(1);
    CHECK(m.batch() == rows{1});
    CHECK(m.last.instance == 1);
}

TEST_CASE("the requests of a turn are gathered") {
    machine m({.max_rows = 8});
    infer_call_ptr a = make_call(1), b = make_call(2);
    REQUIRE(m.batcher.admit(a, t0, true));
    CHECK(m.batcher.needs_turn_end());
    CHECK(m.batch().empty());
    REQUIRE(m.batcher.admit(b, t0, true));
    CHECK_FALSE(m.batcher.needs_turn_end());
    CHECK(m.batch().empty());
    m.batcher.turn_ended();
    CHECK(m.batch() == rows{1, 2});
}

TEST_CASE("no turn is opened while every instance is busy") {
    machine m({.max_rows = 8});
    m.add(1);
    CHECK(m.batch() == rows{1});
    infer_call_ptr b = make_call(1);
    REQUIRE(m.batcher.admit(b, t0, true));
    CHECK_FALSE(m.batcher.needs_turn_end());
    m.batcher.instance_idle(0);
    CHECK(m.batch() == rows{1});
}

TEST_CASE("exactly max_queue requests wait") {
    machine m({.max_rows = 1, .max_queue = 4});
    m.add(1);
    CHECK(m.batch() == rows{1});
    for (int i = 0; i < 4; ++i) CHECK(m.add(1) != nullptr);
    for (int i = 0; i < 8; ++i) CHECK(m.add(1) == nullptr);
    CHECK(m.batcher.waiting() == 4);
    m.batcher.instance_idle(0);
    CHECK(m.batch() == rows{1});
    CHECK(m.add(1) != nullptr);
}

TEST_CASE("a refused call stays with the caller") {
    machine m({.max_rows = 1, .max_queue = 0});
    m.add(1);
    CHECK(m.batch() == rows{1});
    infer_call_ptr call = make_call(1);
    CHECK_FALSE(m.batcher.admit(call, t0, false));
    CHECK(call != nullptr);
}

TEST_CASE("max_delay holds a batch until it is full or its time has come") {
    machine m({.max_rows = 5, .max_delay = 80ms});
    m.add(2, t0);
    CHECK(m.batch(t0).empty());
    CHECK(m.last.what == kind::arm);
    CHECK(m.last.when == t0 + 80ms);
    m.add(2, t0 + 10ms);
    CHECK(m.batch(t0 + 10ms).empty());
    SUBCASE("full") {
        m.add(1, t0 + 20ms);
        CHECK(m.batch(t0 + 20ms) == rows{2, 2, 1});
    }
    SUBCASE("full, for the next one does not fit") {
        m.add(2, t0 + 20ms);
        CHECK(m.batch(t0 + 20ms) == rows{2, 2});
        m.batcher.instance_idle(0);
        CHECK(m.batch(t0 + 20ms).empty());
        CHECK(m.batch(t0 + 100ms) == rows{2});
    }
    SUBCASE("its time has come") {
        CHECK(m.batch(t0 + 79ms).empty());
        CHECK(m.batch(t0 + 80ms) == rows{2, 2});
    }
    SUBCASE("a full request does not wait") {
        machine full({.max_rows = 8, .max_delay = 10s});
        full.add(8);
        CHECK(full.batch() == rows{8});
    }
}

TEST_CASE("an expired request is answered and never runs") {
    machine m({.max_rows = 8, .queue_timeout = 100ms});
    m.add(1, t0);
    CHECK(m.batch(t0) == rows{1});
    const infer_call* first = m.add(1, t0);
    m.add(1, t0 + 50ms);
    CHECK(m.batch(t0 + 50ms).empty());
    CHECK(m.last.what == kind::arm);
    CHECK(m.last.when == t0 + 100ms);
    CHECK(m.batch(t0 + 99ms).empty());
    CHECK(m.batch(t0 + 100ms).empty());
    REQUIRE(m.last.what == kind::expire);
    REQUIRE(m.last.members.size() == 1);
    CHECK(m.last.members[0].get() == first);
    CHECK(m.batch(t0 + 100ms).empty());
    CHECK(m.last.what == kind::arm);
    CHECK(m.last.when == t0 + 150ms);
    m.batcher.instance_idle(0);
    CHECK(m.batch(t0 + 149ms) == rows{1});
}

TEST_CASE("a call's own deadline shortens the queue's, and never lengthens it") {
    machine m({.max_rows = 8, .queue_timeout = 100ms});
    m.add(1);
    CHECK(m.batch() == rows{1});
    infer_call_ptr shorter = make_call(1), longer = make_call(1);
    shorter->deadline = t0 + 10ms;
    longer->deadline = t0 + 10s;
    REQUIRE(m.batcher.admit(shorter, t0, false));
    REQUIRE(m.batcher.admit(longer, t0, false));
    CHECK(m.batch(t0).empty());
    CHECK(m.last.when == t0 + 10ms);
    CHECK(m.batch(t0 + 100ms).empty());
    REQUIRE(m.last.what == kind::expire);
    CHECK(m.last.members.size() == 2);
}

TEST_CASE("times near the end of the clock do not overflow") {
    machine m({.max_rows = 8, .max_delay = clock::duration::max(), .queue_timeout = clock::duration::max()});
    m.add(1);
    CHECK(m.batch().empty());
    CHECK(m.last.what == kind::wait);
}

TEST_CASE("a call that waits can be taken out, once") {
    machine m({.max_rows = 1});
    m.add(1);
    CHECK(m.batch() == rows{1});
    no_receiver first, second;
    const infer_call* const a = m.add(1, t0, 4, &first);
    m.add(2, t0, 4, &second);
    CHECK(m.batcher.remove(first).get() == a);
    CHECK(m.batcher.remove(first) == nullptr);
    m.batcher.instance_idle(0);
    CHECK(m.batch() == rows{2});
    CHECK(m.batcher.remove(second) == nullptr);
}

TEST_CASE("property: every admitted request is dispatched once, in batches within the limit, oldest first per width") {
    std::uint32_t random = 7;
    const auto next = [&](std::uint32_t below) { return (random = random * 1664525 + 1013904223) / 65536 % below; };
    machine m({.max_rows = 6, .max_queue = 40, .instances = 2});
    std::vector<const infer_call*> waiting;
    std::vector<std::uint32_t> busy;
    std::size_t admitted = 0, dispatched = 0;
    for (int step = 0; step < 20'000; ++step) {
        if (next(3) > 0) {
            if (const infer_call* call = m.add(1 + next(6), t0, 1 + next(2))) {
                waiting.push_back(call);
                ++admitted;
            }
        } else if (!busy.empty()) {
            m.batcher.instance_idle(busy.back());
            busy.pop_back();
        }
        while (!m.batch().empty()) {
            busy.push_back(m.last.instance);
            std::uint32_t total = 0;
            REQUIRE(m.last.members.front().get() == waiting.front());
            for (const auto& member : m.last.members) {
                total += member->rows;
                REQUIRE(member->inputs[0]->shape[1] == m.last.members.front()->inputs[0]->shape[1]);
                REQUIRE(std::erase(waiting, member.get()) == 1);
                ++dispatched;
            }
            REQUIRE(total <= 6);
        }
        REQUIRE(m.batcher.waiting() == waiting.size());
    }
    CHECK(admitted == dispatched + waiting.size());
    CHECK(dispatched > 5'000);
}
