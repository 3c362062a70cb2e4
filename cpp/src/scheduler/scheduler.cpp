#include "scheduler/scheduler.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "core/split.hpp"

namespace asio_infer {

namespace {

std::uint64_t nanoseconds(clock::duration d) noexcept {
    const auto count = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
    return count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

std::uint64_t wall_clock_ms() noexcept {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count());
}

double seconds(clock::duration d) noexcept { return std::chrono::duration<double>(d).count(); }

error out_of_memory() { return {errc::unavailable, "no memory for the run"}; }

/// The outputs that some member wants, ascending.
void unite_outputs(const std::vector<infer_call_ptr>& members, std::vector<std::uint32_t>& out) {
    out.clear();
    for (const infer_call_ptr& member : members)
        for (const auto& wanted : member->outputs) {
            const auto at = std::lower_bound(out.begin(), out.end(), wanted.index);
            if (at == out.end() || *at != wanted.index) out.insert(at, wanted.index);
        }
}

/// Sets the call's outcome from the run's outputs (`computed`, ascending), each got by its position in the run.
template <class Output>
void hand_out(infer_call& call, const std::vector<std::uint32_t>& computed, Output output) {
    std::vector<tensor> mine;
    mine.reserve(call.outputs.size());
    for (const auto& wanted : call.outputs) {
        const auto at = std::lower_bound(computed.begin(), computed.end(), wanted.index);
        mine.push_back(output(static_cast<std::size_t>(at - computed.begin())));
    }
    call.outcome = std::move(mine);
}

}  // namespace

/// The end of a model, on a worker.
struct scheduler_end final : task {
    explicit scheduler_end(scheduler* s) : ended(s) {}
    void run() noexcept override { delete this; }
    std::unique_ptr<scheduler> ended;
};

std::shared_ptr<scheduler> scheduler::make(model_spec spec, std::unique_ptr<backend_model> model,
                                           const scheduler_options& options, alarm_factory& alarms,
                                           task_executor& workers) {
    const std::shared_ptr<scheduler> made(new scheduler(std::move(spec), std::move(model), options),
                                          [&workers](scheduler* s) { workers.post(*new scheduler_end(s)); });
    made->alarm_ = alarms.make_alarm([weak = std::weak_ptr(made)] {
        if (const auto self = weak.lock()) self->work({});
    });
    return made;
}

scheduler::scheduler(model_spec spec, std::unique_ptr<backend_model> model, const scheduler_options& options)
    : model_(std::move(model)), machine_(options.limits), estimate_(options.inline_max) {
    spec_ = std::move(spec);
    refusal_ = error{errc::unavailable, "the server is not running"};
    turn_.owner = this;
    for (double took : options.measured_run_seconds)
        estimate_.record(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(took)));
    for (std::uint32_t i = 0; i < options.limits.instances; ++i) {
        slots_.push_back(std::make_unique<slot>());
        slots_.back()->owner = this;
        slots_.back()->index = i;
    }
}

scheduler::~scheduler() = default;

void scheduler::submit(infer_call_ptr call, task_executor* home, bool caller_waits) noexcept {
    const model_ptr self = call->model;
    std::optional<error> refused;
    bool turn = false;
    try {
        const std::lock_guard lock(mutex_);
        if (refusal_) {
            refused = *refusal_;
        } else if (machine_.admit(call, clock::now(), home != nullptr)) {
            stats_.pending.fetch_add(1, std::memory_order_relaxed);
            turn = machine_.needs_turn_end();
        } else {
            refused = error{errc::queue_full, "model '" + spec_.name + "': its queue is full (" +
                                                  std::to_string(spec_.max_queue_size) + " requests wait); try again"};
        }
    } catch (const std::bad_alloc&) {
        refused = error{errc::unavailable, {}};
    }
    if (refused) return fail(std::move(call), *refused);
    if (turn)
        post_turn(self, *home);
    else
        work({nullptr, caller_waits});
}

/// Only for the thread that has just opened the turn: until run() it alone may touch turn_.
void scheduler::post_turn(const model_ptr& self, task_executor& home) noexcept {
    turn_.keep_alive = self;
    turn_.home = &home;
    home.post(turn_);
}

void scheduler::turn_end::run() noexcept {
    // Taken before turn_ended(): from there on another thread may post this task again.
    const model_ptr self = std::move(keep_alive);
    task_executor* const at = home;
    {
        const std::lock_guard lock(owner->mutex_);
        owner->machine_.turn_ended();
    }
    owner->work({at, false});
}

void scheduler::work(place at) noexcept {
    for (;;) {
        batcher::action next;
        bool run_inline = false;
        {
            const std::lock_guard lock(mutex_);
            next = machine_.resume(clock::now());
            run_inline = at.may_block || (at.home != nullptr && estimate_.short_enough());
        }
        switch (next.what) {
            case batcher::action::kind::wait:
                return;
            case batcher::action::kind::arm:
                alarm_->set(next.when);
                break;
            case batcher::action::kind::expire:
                expire(std::move(next.members));
                break;
            case batcher::action::kind::dispatch:
                dispatch(next, run_inline);
                // One run on a network thread, then its handlers have a turn before the next one.
                if (run_inline && at.home != nullptr && gather_again(*at.home)) return;
                at.may_block = false;
                break;
        }
    }
}

bool scheduler::gather_again(task_executor& home) noexcept {
    model_ptr self;
    {
        const std::lock_guard lock(mutex_);
        self = machine_.open_turn();
    }
    if (self) post_turn(self, home);
    return self != nullptr;
}

void scheduler::expire(std::vector<infer_call_ptr> calls) noexcept {
    stats_.pending.fetch_sub(static_cast<std::int64_t>(calls.size()), std::memory_order_relaxed);
    fail_all(std::move(calls), {errc::deadline_exceeded, "the request's time ran out while it waited in the queue"});
}

void scheduler::dispatch(batcher::action& run, bool run_inline) noexcept {
    const auto count = static_cast<std::int64_t>(run.members.size());
    stats_.pending.fetch_sub(count, std::memory_order_relaxed);
    stats_.running.fetch_add(count, std::memory_order_relaxed);
    slot& s = *slots_[run.instance];
    s.members = std::move(run.members);
    if (launch(s, run_inline)) finish(s);
}

/// Starts the slot's members. True if the run is over already and the caller is to finish it.
bool scheduler::launch(slot& s, bool run_inline) noexcept {
    s.started = s.job.compute_started = s.job.compute_ended = clock::now();
    s.half_done.store(false, std::memory_order_relaxed);
    s.job.run_inline = run_inline;
    s.job.receiver = &s;
    try {
        s.job.members.clear();
        s.job.rows = 0;
        for (const infer_call_ptr& member : s.members) {
            s.job.members.push_back(member.get());
            s.job.rows += member->rows;
        }
        unite_outputs(s.members, s.job.outputs);
    } catch (const std::bad_alloc&) {
        s.job.outcome = out_of_memory();
        return true;
    }
    model_->instance(s.index).async_run(s.job);
    return s.half_done.exchange(true, std::memory_order_acq_rel);
}

void scheduler::slot::on_run_done(run_job&) noexcept {
    // The later of the two, async_run's return and the run's end, goes on: neither recursion nor a race.
    if (!half_done.exchange(true, std::memory_order_acq_rel)) return;
    const model_ptr self = members.front()->model;
    owner->finish(*this);
    owner->work({});
}

/// The slot's run is over. Its results go out; the members of a batch that failed run again one by one, so that a bad
/// row harms only itself. Then the instance is idle.
void scheduler::finish(slot& s) noexcept {
    for (;;) {
        const time_point now = clock::now();
        record_run(s);
        if (s.job.outcome.has_error() && s.job.outcome.error().code == errc::cancelled) end_interrupted(s);
        if (distribute(s) || !set_apart(s)) deliver(s, now);
        s.members.clear();
        if (!next_alone(s)) break;
        if (!launch(s, false)) return;
    }
    const std::lock_guard lock(mutex_);
    machine_.instance_idle(s.index);
}

/// close() has stopped the run: its callers have cancelled nothing and are told why the model was closed, those with
/// them that are still to be run alone.
void scheduler::end_interrupted(slot& s) noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (refusal_) s.job.outcome = *refusal_;
    }
    // Allocates nothing: `members` held them all as one batch.
    std::move(s.alone.rbegin(), s.alone.rend(), std::back_inserter(s.members));
    s.alone.clear();
}

/// Keeps the members of a failed batch to be run alone; false if there is no use in that.
bool scheduler::set_apart(slot& s) noexcept {
    if (s.members.size() < 2 || !ready()) return false;
    try {
        // Copied into the other vector, so that `members` keeps the memory for one.
        s.alone.assign(std::make_move_iterator(s.members.rbegin()), std::make_move_iterator(s.members.rend()));
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

/// Makes the next member of a failed batch the slot's only one; those whose time is over are answered.
bool scheduler::next_alone(slot& s) noexcept {
    while (!s.alone.empty()) {
        infer_call_ptr next = std::move(s.alone.back());
        s.alone.pop_back();
        if (next->deadline > clock::now()) {
            s.members.push_back(std::move(next));  // allocates nothing: it held a batch
            return true;
        }
        stats_.running.fetch_sub(1, std::memory_order_relaxed);
        fail(std::move(next), {errc::deadline_exceeded, "the request's time ran out"});
    }
    return false;
}

/// Gives each member its outputs, its rows of them if it shared the run. False, with the outcome an error, if the run
/// failed or its outputs do not have a row for each row that went in.
bool scheduler::distribute(slot& s) noexcept {
    if (!s.job.outcome) return false;
    try {
        std::vector<tensor>& wholes = *s.job.outcome;
        if (s.members.size() == 1) {
            hand_out(*s.members.front(), s.job.outputs, [&](std::size_t i) { return wholes[i]; });
            return true;
        }
        std::vector<std::uint32_t> rows;
        for (const infer_call_ptr& member : s.members) rows.push_back(member->rows);
        std::vector<std::vector<tensor>> parts;
        for (std::size_t i = 0; i < wholes.size(); ++i) {
            result<std::vector<tensor>> split = split_rows(wholes[i], rows, spec_.outputs[s.job.outputs[i]].name);
            if (!split) {
                s.job.outcome = split.error();
                return false;
            }
            parts.push_back(std::move(*split));
        }
        for (std::size_t m = 0; m < s.members.size(); ++m)
            hand_out(*s.members[m], s.job.outputs, [&](std::size_t i) { return parts[i][m]; });
        return true;
    } catch (const std::bad_alloc&) {
        s.job.outcome = out_of_memory();
        return false;
    }
}

void scheduler::deliver(slot& s, time_point now) noexcept {
    stats_.running.fetch_sub(static_cast<std::int64_t>(s.members.size()), std::memory_order_relaxed);
    for (infer_call_ptr& member : s.members) {
        member->run_started = s.started;
        member->run_ended = now;
        if (!s.job.outcome) {
            fail(std::move(member), s.job.outcome.error());
            continue;
        }
        record_success(*member, s, now);
        call_receiver& receiver = *member->receiver;
        receiver.deliver(std::move(member));
    }
    s.job.outcome = std::vector<tensor>{};  // the members' tensors are theirs alone now
}

void scheduler::record_run(const slot& s) noexcept {
    const auto took = s.job.compute_ended - s.job.compute_started;
    stats_.executions.fetch_add(1, std::memory_order_relaxed);
    stats_.last_inference_ms.store(wall_clock_ms(), std::memory_order_relaxed);
    stats_.batch_rows.record(s.job.rows);
    stats_.run_seconds.record(seconds(took));
    run_of_size& by_rows = stats_.runs_by_rows[std::min<std::size_t>(s.job.rows, stats_.runs_by_rows.size() - 1)];
    by_rows.compute_input.add(1, nanoseconds(s.job.compute_started - s.started));
    by_rows.compute_infer.add(1, nanoseconds(took));
    by_rows.compute_output.add(1, nanoseconds(clock::now() - s.job.compute_ended));
    const std::lock_guard lock(mutex_);
    estimate_.record(std::chrono::duration_cast<std::chrono::nanoseconds>(took));
}

void scheduler::record_success(const infer_call& call, const slot& s, time_point now) noexcept {
    stats_.success.add(1, nanoseconds(now - call.arrived));
    stats_.queue.add(1, nanoseconds(s.started - call.queued));
    stats_.compute_input.add(1, nanoseconds(s.job.compute_started - s.started));
    stats_.compute_infer.add(1, nanoseconds(s.job.compute_ended - s.job.compute_started));
    stats_.compute_output.add(1, nanoseconds(now - s.job.compute_ended));
    stats_.inferences.fetch_add(call.rows, std::memory_order_relaxed);
    stats_.request_seconds.record(seconds(now - call.arrived));
    stats_.queue_seconds.record(seconds(s.started - call.queued));
}

void scheduler::cancel(const infer_call* call) noexcept {
    infer_call_ptr taken;
    {
        const std::lock_guard lock(mutex_);
        taken = machine_.remove(call);
    }
    if (!taken) return;
    const model_ptr self = taken->model;
    stats_.pending.fetch_sub(1, std::memory_order_relaxed);
    fail(std::move(taken), {errc::cancelled, "the request was cancelled while it waited"});
    // What waited for the batch that it would have led may run now.
    work({});
}

void scheduler::open() noexcept {
    const std::lock_guard lock(mutex_);
    refusal_.reset();
    closed_.store(false, std::memory_order_relaxed);
}

void scheduler::close(const error& why, bool interrupt) noexcept {
    std::vector<infer_call_ptr> waiting;
    {
        const std::lock_guard lock(mutex_);
        refusal_ = why;
        closed_.store(true, std::memory_order_relaxed);
        waiting = machine_.remove_all();
    }
    stats_.pending.fetch_sub(static_cast<std::int64_t>(waiting.size()), std::memory_order_relaxed);
    fail_all(std::move(waiting), why);
    for (const auto& each : slots_)
        if (interrupt) model_->instance(each->index).cancel();
}

void scheduler::fail(infer_call_ptr call, const error& why) noexcept {
    stats_.record_failure(why.code, nanoseconds(clock::now() - call->arrived));
    call->outcome = why;
    call_receiver& receiver = *call->receiver;
    receiver.deliver(std::move(call));
}

void scheduler::fail_all(std::vector<infer_call_ptr> calls, const error& why) noexcept {
    for (infer_call_ptr& call : calls) fail(std::move(call), why);
}

}  // namespace asio_infer
