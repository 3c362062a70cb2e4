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

error time_ran_out(const char* where) {
    return {errc::deadline_exceeded, std::string("the request's time ran out while it ") + where};
}

/// What goes back to the caller of a call whose run goes on: the original stays, and has no caller from now on. Throws
/// std::bad_alloc before anything is changed.
infer_call_ptr stand_in(infer_call& running) {
    auto back = std::make_unique<infer_call>();
    back->request.id = running.request.id;
    back->model = running.model;
    back->arrived = running.arrived;
    back->deadline = running.deadline;
    back->queued = running.queued;
    back->receiver = std::exchange(running.receiver, nullptr);
    return back;
}

bool has_caller(const infer_call_ptr& call) noexcept { return call->receiver != nullptr; }

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
                                           task_executor& workers, std::shared_ptr<model_stats> stats) {
    const std::shared_ptr<scheduler> made(new scheduler(std::move(spec), std::move(model), options, std::move(stats)),
                                          [&workers](scheduler* s) { workers.post(*new scheduler_end(s)); });
    made->queue_alarm_ = alarms.make_alarm([weak = std::weak_ptr(made)] {
        if (const auto self = weak.lock()) self->work({});
    });
    made->deadline_alarm_ = alarms.make_alarm([weak = std::weak_ptr(made)] {
        if (const auto self = weak.lock()) self->end_overdue();
    });
    return made;
}

scheduler::scheduler(model_spec spec, std::unique_ptr<backend_model> model, const scheduler_options& options,
                     std::shared_ptr<model_stats> stats)
    : served_model(std::move(stats)),
      model_(std::move(model)),
      machine_(options.limits),
      estimate_(options.inline_max) {
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
        const time_point now = clock::now();
        if (refusal_) {
            refused = *refusal_;
        } else if (machine_.admit(call, now, home != nullptr)) {
            stats_->pending.fetch_add(1, std::memory_order_relaxed);
            turn = machine_.needs_turn_end();
        } else {
            refused = error{errc::queue_full,
                            "model '" + spec_.name + "': its queue is full (" + std::to_string(spec_.max_queue_size) +
                                " requests wait); try again",
                            drained_.seconds_for(static_cast<double>(machine_.waiting()), now)};
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
            run_inline = (at.may_block || at.home != nullptr) && estimate_.short_enough();
            if (next.what == batcher::action::kind::dispatch) occupy(*slots_[next.instance], next.members);
        }
        switch (next.what) {
            case batcher::action::kind::wait:
                return;
            case batcher::action::kind::arm:
                queue_alarm_->set(next.when);
                break;
            case batcher::action::kind::expire:
                expire(std::move(next.members));
                break;
            case batcher::action::kind::dispatch:
                dispatch(*slots_[next.instance], run_inline);
                // One run on a network thread, then its handlers have a turn before the next one.
                if (run_inline && at.home != nullptr && gather_again(*at.home)) return;
                at.may_block = false;
                break;
        }
    }
}

/// Gives the slot its members. Under the mutex.
void scheduler::occupy(slot& s, std::vector<infer_call_ptr>& members) noexcept {
    const auto count = static_cast<std::int64_t>(members.size());
    stats_->pending.fetch_sub(count, std::memory_order_relaxed);
    stats_->running.fetch_add(count, std::memory_order_relaxed);
    s.members.swap(members);
    for (const infer_call_ptr& member : s.members) {
        if (member->deadline >= next_overdue_) continue;
        next_overdue_ = member->deadline;
        deadline_alarm_due_ = true;
    }
}

/// Sets the alarm for the deadlines of calls that run, if it has to ring earlier than it would.
void scheduler::watch_deadlines() noexcept {
    time_point when;
    {
        const std::lock_guard lock(mutex_);
        if (!std::exchange(deadline_alarm_due_, false)) return;
        when = next_overdue_;
    }
    deadline_alarm_->set(when);
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
    stats_->pending.fetch_sub(static_cast<std::int64_t>(calls.size()), std::memory_order_relaxed);
    fail_all(std::move(calls), time_ran_out("waited in the queue"));
}

void scheduler::dispatch(slot& s, bool run_inline) noexcept {
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
    if (!run_inline) watch_deadlines();
    model_->instance(s.index).async_run(s.job);
    if (s.half_done.exchange(true, std::memory_order_acq_rel)) return true;
    stop_unwanted(s);
    return false;
}

/// Whoever took the last caller away before the run had begun could not stop it.
void scheduler::stop_unwanted(slot& s) noexcept {
    const std::lock_guard lock(mutex_);
    if (!s.members.empty() && std::none_of(s.members.begin(), s.members.end(), has_caller))
        model_->instance(s.index).cancel();
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
        take_finished(s);
        record_run(s);
        if (distribute(s) || !set_apart(s)) deliver(s, now);
        s.finished.clear();
        if (!next_alone(s)) return;
        if (!launch(s, false)) return;
    }
}

/// From here on no caller can leave the run. One that close() has stopped failed for the reason of the closing: its
/// callers have cancelled nothing; those that were still to be run alone are told the same.
void scheduler::take_finished(slot& s) noexcept {
    std::vector<infer_call_ptr> rest;
    {
        const std::lock_guard lock(mutex_);
        s.finished.swap(s.members);
        const bool stopped = s.job.outcome.has_error() && s.job.outcome.error().code == errc::cancelled;
        if (!stopped)
            estimate_.record(
                std::chrono::duration_cast<std::chrono::nanoseconds>(s.job.compute_ended - s.job.compute_started));
        drained_.record(static_cast<double>(s.finished.size()), s.job.compute_ended);
        if (stopped && refusal_) {
            s.job.outcome = *refusal_;
            rest.swap(s.alone);
        }
    }
    if (rest.empty()) return;
    stats_->running.fetch_sub(static_cast<std::int64_t>(rest.size()), std::memory_order_relaxed);
    const error why = s.job.outcome.error();
    fail_all(std::move(rest), why);
}

/// Keeps the members of a failed batch to be run alone, but for those whose callers have gone; false if there is no use
/// in that.
bool scheduler::set_apart(slot& s) noexcept {
    if (s.finished.size() < 2 || !ready()) return false;
    try {
        const std::lock_guard lock(mutex_);
        s.alone.reserve(s.finished.size());
        s.members.reserve(1);
        std::move(s.finished.rbegin(), s.finished.rend(), std::back_inserter(s.alone));
        const auto dropped = std::erase_if(s.alone, [](const infer_call_ptr& call) { return !has_caller(call); });
        stats_->running.fetch_sub(static_cast<std::int64_t>(dropped), std::memory_order_relaxed);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

/// Makes the next member of a failed batch the slot's only one; those whose time is over are answered. Without one the
/// instance is idle.
bool scheduler::next_alone(slot& s) noexcept {
    for (;;) {
        infer_call_ptr late;
        {
            const std::lock_guard lock(mutex_);
            if (s.alone.empty()) {
                machine_.instance_idle(s.index);
                return false;
            }
            infer_call_ptr next = std::move(s.alone.back());
            s.alone.pop_back();
            if (next->deadline > clock::now()) {
                s.members.push_back(std::move(next));  // allocates nothing: set_apart has made room
                return true;
            }
            late = std::move(next);
        }
        stats_->running.fetch_sub(1, std::memory_order_relaxed);
        fail(std::move(late), time_ran_out("ran"));
    }
}

/// Gives each member its outputs, its rows of them if it shared the run. False, with the outcome an error, if the run
/// failed or its outputs do not have a row for each row that went in.
bool scheduler::distribute(slot& s) noexcept {
    if (!s.job.outcome) return false;
    try {
        std::vector<tensor>& wholes = *s.job.outcome;
        if (s.finished.size() == 1) {
            hand_out(*s.finished.front(), s.job.outputs, [&](std::size_t i) { return wholes[i]; });
            return true;
        }
        std::vector<std::uint32_t> rows;
        for (const infer_call_ptr& member : s.finished) rows.push_back(member->rows);
        std::vector<std::vector<tensor>> parts;
        for (std::size_t i = 0; i < wholes.size(); ++i) {
            result<std::vector<tensor>> split = split_rows(wholes[i], rows, spec_.outputs[s.job.outputs[i]].name);
            if (!split) {
                s.job.outcome = split.error();
                return false;
            }
            parts.push_back(std::move(*split));
        }
        for (std::size_t m = 0; m < s.finished.size(); ++m)
            if (has_caller(s.finished[m]))
                hand_out(*s.finished[m], s.job.outputs, [&](std::size_t i) { return parts[i][m]; });
        return true;
    } catch (const std::bad_alloc&) {
        s.job.outcome = out_of_memory();
        return false;
    }
}

void scheduler::deliver(slot& s, time_point now) noexcept {
    stats_->running.fetch_sub(static_cast<std::int64_t>(s.finished.size()), std::memory_order_relaxed);
    for (infer_call_ptr& member : s.finished) {
        if (!has_caller(member)) continue;
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
    stats_->executions.fetch_add(1, std::memory_order_relaxed);
    stats_->last_inference_ms.store(wall_clock_ms(), std::memory_order_relaxed);
    stats_->batch_rows.record(s.job.rows);
    stats_->run_seconds.record(seconds(took));
    run_of_size& by_rows = stats_->runs_by_rows[std::min<std::size_t>(s.job.rows, stats_->runs_by_rows.size() - 1)];
    by_rows.compute_input.add(1, nanoseconds(s.job.compute_started - s.started));
    by_rows.compute_infer.add(1, nanoseconds(took));
    by_rows.compute_output.add(1, nanoseconds(clock::now() - s.job.compute_ended));
}

void scheduler::record_success(const infer_call& call, const slot& s, time_point now) noexcept {
    stats_->success.add(1, nanoseconds(now - call.arrived));
    stats_->queue.add(1, nanoseconds(s.started - call.queued));
    stats_->compute_input.add(1, nanoseconds(s.job.compute_started - s.started));
    stats_->compute_infer.add(1, nanoseconds(s.job.compute_ended - s.job.compute_started));
    stats_->compute_output.add(1, nanoseconds(now - s.job.compute_ended));
    stats_->inferences.fetch_add(call.rows, std::memory_order_relaxed);
    stats_->request_seconds.record(seconds(now - call.arrived));
    stats_->queue_seconds.record(seconds(s.started - call.queued));
}

/// Takes those that are `gone(call)` out of the slot: they are to go back to their callers now. A run without callers
/// is stopped. Under the mutex. Without memory they stay, and go back when their run ends.
template <class Gone>
void scheduler::take_back(slot& s, Gone gone, std::vector<infer_call_ptr>& out) noexcept {
    const std::size_t before = out.size();
    try {
        for (const infer_call_ptr& member : s.members) {
            if (!has_caller(member) || !gone(*member)) continue;
            out.reserve(out.size() + 1);
            out.push_back(stand_in(*member));
        }
        if (out.size() > before && std::none_of(s.members.begin(), s.members.end(), has_caller))
            model_->instance(s.index).cancel();
        for (infer_call_ptr& waiting : s.alone) {
            if (!gone(*waiting)) continue;
            out.reserve(out.size() + 1);
            out.push_back(std::move(waiting));
            stats_->running.fetch_sub(1, std::memory_order_relaxed);
        }
    } catch (const std::bad_alloc&) {
    }
    std::erase(s.alone, nullptr);
}

void scheduler::cancel(const call_receiver& caller) noexcept {
    std::vector<infer_call_ptr> gone;
    bool waited = false;
    try {
        gone.reserve(1);
        const std::lock_guard lock(mutex_);
        if (infer_call_ptr taken = machine_.remove(caller)) {
            gone.push_back(std::move(taken));
            waited = true;
        }
        const auto is_his = [&](const infer_call& call) { return call.receiver == &caller; };
        for (const auto& each : slots_)
            if (gone.empty()) take_back(*each, is_his, gone);
    } catch (const std::bad_alloc&) {
    }
    if (gone.empty()) return;
    const model_ptr self = gone.front()->model;
    if (waited) stats_->pending.fetch_sub(1, std::memory_order_relaxed);
    fail_all(std::move(gone), {errc::cancelled, waited ? "the request was cancelled while it waited"
                                                       : "the request was cancelled while it ran"});
    // What waited for the batch that it would have led may run now.
    if (waited) work({});
}

/// The deadline of a call that runs has come.
void scheduler::end_overdue() noexcept {
    std::vector<infer_call_ptr> late;
    time_point next = no_deadline;
    {
        const std::lock_guard lock(mutex_);
        const time_point now = clock::now();
        for (const auto& each : slots_) {
            take_back(*each, [now](const infer_call& call) { return call.deadline <= now; }, late);
            for (const infer_call_ptr& call : each->members)
                if (has_caller(call) && call->deadline > now) next = std::min(next, call->deadline);
            for (const infer_call_ptr& call : each->alone) next = std::min(next, call->deadline);
        }
        next_overdue_ = next;
        deadline_alarm_due_ = next != no_deadline;
    }
    fail_all(std::move(late), time_ran_out("ran"));
    watch_deadlines();
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
    stats_->pending.fetch_sub(static_cast<std::int64_t>(waiting.size()), std::memory_order_relaxed);
    fail_all(std::move(waiting), why);
    for (const auto& each : slots_)
        if (interrupt) model_->instance(each->index).cancel();
}

void scheduler::fail(infer_call_ptr call, const error& why) noexcept {
    stats_->record_failure(why.code, nanoseconds(clock::now() - call->arrived));
    call->outcome = why;
    call_receiver& receiver = *call->receiver;
    receiver.deliver(std::move(call));
}

void scheduler::fail_all(std::vector<infer_call_ptr> calls, const error& why) noexcept {
    for (infer_call_ptr& call : calls) fail(std::move(call), why);
}

}  // namespace asio_infer
