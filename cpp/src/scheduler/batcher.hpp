#pragma once

#include <asio_infer/infer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace asio_infer {

struct batcher_limits {
    std::uint32_t max_rows = 0;        ///< most rows in one run; 0: every request runs alone
    clock::duration max_delay{0};      ///< how long a batch may wait to fill while an instance is idle
    std::uint32_t max_queue = 256;     ///< requests that may wait
    clock::duration queue_timeout{0};  ///< longest wait of a request; 0: none
    std::uint32_t instances = 1;
};

/// The queue of one model and the decision what runs when: a state machine without I/O, threads or locks, with the
/// clock passed in. Its owner reports events and then calls resume() until it answers `wait`:
///
///   admit(call)          a request came; the requests of one turn of a reactor are gathered, so the owner is told to
///                        post the turn's end behind the handlers that are ready (needs_turn_end())
///   turn_ended()         that post was reached
///   instance_idle(i)     a run is over
///   (the clock)          resume() itself looks at `now`
///
/// Work-conserving: with an idle instance and no turn open, a request runs at once, unless max_delay asks to wait.
/// Order is first come, first served; a batch takes the oldest request and then, in order, those that may share its run
/// and still fit. Expired requests are never dispatched.
class batcher {
public:
    struct action {
        enum class kind {
            wait,      ///< nothing to do until the next event
            dispatch,  ///< run `members` on `instance`
            expire,    ///< answer `members` with deadline_exceeded
            arm,       ///< call resume() at `when` (at the latest); then go on calling resume()
        };
        kind what = kind::wait;
        std::uint32_t instance = 0;
        time_point when{};
        std::vector<infer_call_ptr> members;
    };

    explicit batcher(const batcher_limits& limits);

    /// Takes the call into the queue, or leaves it with the caller (false) if the queue is full. Idle instances count
    /// as room: what they will take when the turn ends does not wait.
    bool admit(infer_call_ptr& call, time_point now, bool opens_turn);
    void turn_ended() noexcept { turn_open_ = false; }
    /// Gathers the waiting requests, and those that come meanwhile, until the next turn_ended(). Returns the model, to
    /// be kept alive until then, or null if nothing waits or a turn is open.
    std::shared_ptr<served_model> open_turn() noexcept;
    void instance_idle(std::uint32_t index);
    /// Takes the caller's waiting call out, or nothing if none waits here.
    infer_call_ptr remove(const call_receiver& caller);
    std::vector<infer_call_ptr> remove_all();

    action resume(time_point now);

    /// True once after an admit that opened a turn.
    bool needs_turn_end() noexcept { return std::exchange(turn_to_post_, false); }
    std::size_t waiting() const noexcept { return queue_.size(); }
    std::size_t idle_instances() const noexcept { return idle_.size(); }

private:
    struct entry {
        infer_call_ptr call;
        time_point expires;
    };

    std::size_t room() const noexcept;
    action take_expired(time_point now);
    action take_batch();
    action arm(time_point now);
    bool must_wait_to_fill(time_point now) const;
    std::uint32_t rows_that_fit(bool& full) const;

    const batcher_limits limits_;
    std::deque<entry> queue_;
    std::vector<std::uint32_t> idle_;
    time_point next_expiry_ = no_deadline;  ///< no later than the earliest `expires` in the queue
    time_point armed_ = no_deadline;        ///< the alarm that was asked for last
    bool turn_open_ = false;
    bool turn_to_post_ = false;
};

}  // namespace asio_infer
