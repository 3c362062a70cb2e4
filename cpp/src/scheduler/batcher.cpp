#include "scheduler/batcher.hpp"

#include <algorithm>
#include <utility>

#include "core/later.hpp"
#include "scheduler/batch_key.hpp"

namespace asio_infer {

namespace {

/// When a limit that 0 turns off is reached.
time_point after(time_point start, clock::duration wait) noexcept {
    return wait > clock::duration::zero() ? later(start, wait) : no_deadline;
}

}  // namespace

batcher::batcher(const batcher_limits& limits) : limits_(limits) {
    for (std::uint32_t i = limits.instances; i-- > 0;) idle_.push_back(i);
}

/// Idle instances take one request each, or a batch each.
std::size_t batcher::room() const noexcept {
    return limits_.max_queue + idle_.size() * std::max<std::size_t>(limits_.max_rows, 1);
}

bool batcher::admit(infer_call_ptr& call, time_point now, bool opens_turn) {
    if (queue_.size() >= room()) return false;
    const time_point expires = std::min(call->deadline, after(now, limits_.queue_timeout));
    call->queued = now;
    queue_.push_back({nullptr, expires});  // may throw: the call stays its owner's then
    queue_.back().call = std::move(call);
    next_expiry_ = std::min(next_expiry_, expires);
    if (opens_turn && !turn_open_ && !idle_.empty()) turn_open_ = turn_to_post_ = true;
    return true;
}

std::shared_ptr<served_model> batcher::open_turn() noexcept {
    if (turn_open_ || queue_.empty()) return nullptr;
    turn_open_ = true;
    return queue_.front().call->model;
}

void batcher::instance_idle(std::uint32_t index) { idle_.push_back(index); }

infer_call_ptr batcher::remove(const call_receiver& caller) {
    const auto found =
        std::find_if(queue_.begin(), queue_.end(), [&](const entry& e) { return e.call->receiver == &caller; });
    if (found == queue_.end()) return nullptr;
    infer_call_ptr taken = std::move(found->call);
    queue_.erase(found);
    return taken;
}

std::vector<infer_call_ptr> batcher::remove_all() {
    std::vector<infer_call_ptr> all;
    all.reserve(queue_.size());
    for (entry& each : queue_) all.push_back(std::move(each.call));
    queue_.clear();
    return all;
}

batcher::action batcher::resume(time_point now) {
    if (now >= next_expiry_) {
        action expired = take_expired(now);
        if (!expired.members.empty()) return expired;
    }
    if (queue_.empty()) return {};
    if (!turn_open_ && !idle_.empty() && !must_wait_to_fill(now)) return take_batch();
    return arm(now);
}

batcher::action batcher::take_expired(time_point now) {
    action expired;
    expired.what = action::kind::expire;
    next_expiry_ = no_deadline;
    std::erase_if(queue_, [&](entry& each) {
        if (each.expires > now) {
            next_expiry_ = std::min(next_expiry_, each.expires);
            return false;
        }
        expired.members.push_back(std::move(each.call));
        return true;
    });
    return expired;
}

/// Rows of the batch that the oldest request would lead now; `full` if waiting could not add to it.
std::uint32_t batcher::rows_that_fit(bool& full) const {
    const infer_call& head = *queue_.front().call;
    std::uint32_t rows = head.rows;
    full = head.rows == 0 || head.runs_alone || rows >= limits_.max_rows;
    for (std::size_t i = 1; i < queue_.size() && !full; ++i) {
        const infer_call& next = *queue_[i].call;
        if (!may_share_run(head, next)) continue;
        if (next.rows > limits_.max_rows - rows)
            full = true;
        else
            full = (rows += next.rows) == limits_.max_rows;
    }
    return rows;
}

bool batcher::must_wait_to_fill(time_point now) const {
    if (limits_.max_rows <= 1 || limits_.max_delay <= clock::duration::zero()) return false;
    if (now >= after(queue_.front().call->queued, limits_.max_delay)) return false;
    bool full = false;
    rows_that_fit(full);
    return !full;
}

batcher::action batcher::take_batch() {
    action run;
    run.what = action::kind::dispatch;
    run.instance = idle_.back();
    idle_.pop_back();
    run.members.push_back(std::move(queue_.front().call));
    queue_.pop_front();
    const infer_call& head = *run.members.front();
    std::uint32_t rows = head.rows;
    // Most queues hold one kind of request: then the members are the front of the queue and nothing is moved.
    for (auto it = queue_.begin(); it != queue_.end() && rows < limits_.max_rows;) {
        const infer_call& next = *it->call;
        if (next.rows > limits_.max_rows - rows || !may_share_run(head, next)) {
            ++it;
            continue;
        }
        rows += next.rows;
        run.members.push_back(std::move(it->call));
        it = queue_.erase(it);
    }
    return run;
}

batcher::action batcher::arm(time_point now) {
    time_point when = next_expiry_;
    if (!turn_open_ && !idle_.empty()) when = std::min(when, after(queue_.front().call->queued, limits_.max_delay));
    if (when == no_deadline || (armed_ <= when && armed_ > now)) return {};
    armed_ = when;
    action alarm;
    alarm.what = action::kind::arm;
    alarm.when = when;
    return alarm;
}

}  // namespace asio_infer
