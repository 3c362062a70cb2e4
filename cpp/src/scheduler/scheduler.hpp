#pragma once

#include <asio_infer/backend.hpp>
#include <asio_infer/limits.hpp>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/alarm.hpp"
#include "core/drain_rate.hpp"
#include "core/executor.hpp"
#include "core/served_model.hpp"
#include "scheduler/batcher.hpp"
#include "scheduler/run_time_estimate.hpp"

namespace asio_infer {

struct scheduler_options {
    batcher_limits limits;
    std::chrono::nanoseconds inline_max{0};    ///< runs up to this may happen on a network thread
    std::vector<double> measured_run_seconds;  ///< from the warm-up: seeds the estimate
};

/// A model in service: the batcher's shell. Threads meet here and nowhere else, by one rule: a short mutex around the
/// pure machine, never held while anything runs, is delivered or is posted. A batch takes it once for all its members.
///
/// Calls are owned by the queue, then by the slot of the instance that runs them, and go back through their receiver.
/// The slot belongs to the work, not to the caller: a caller that leaves, or whose deadline comes, during the run gets
/// another object at once (see call_receiver), and the slot is free when the run has ended. It is made to end early
/// when no caller is left.
class scheduler final : public served_model {
public:
    /// `model` is loaded and warm. It takes no calls before open(). Its last owner may be a network thread, so its end,
    /// which may take the runtime a while, is left to `workers`; they and `alarms` outlive it.
    /// `stats`: of the model that this one replaces, if any.
    static std::shared_ptr<scheduler> make(model_spec spec, std::unique_ptr<backend_model> model,
                                           const scheduler_options& options, alarm_factory& alarms,
                                           task_executor& workers,
                                           std::shared_ptr<model_stats> stats = std::make_shared<model_stats>());
    ~scheduler() override;

    bool ready() const noexcept override { return !closed_.load(std::memory_order_relaxed); }
    void submit(infer_call_ptr call, task_executor* home, bool caller_waits) noexcept override;
    void cancel(const call_receiver& caller) noexcept override;
    void open() noexcept override;
    void close(const error& why, bool interrupt) noexcept override;

private:
    /// The thread that works for the scheduler at the moment.
    struct place {
        task_executor* home = nullptr;  ///< the network thread's executor, if it is one
        bool may_block = false;         ///< the thread waits for this very work anyway
    };

    /// One instance and what it runs. The atomic tells who finishes a run that ended while it was being started.
    struct slot final : run_receiver {
        void on_run_done(run_job& job) noexcept override;
        scheduler* owner = nullptr;
        std::uint32_t index = 0;
        run_job job;
        time_point started{};
        std::atomic<bool> half_done{false};
        std::vector<infer_call_ptr> finished;  ///< of the run that is over, while it is dealt with

        /// Changed under the scheduler's mutex, for cancel() and the clock look in from other threads.
        std::vector<infer_call_ptr> members;  ///< of the run that is under way
        std::vector<infer_call_ptr> alone;    ///< to be run one by one, last first, after a batch of them failed
    };

    /// The end of a reactor's turn, posted behind the handlers that were ready.
    struct turn_end final : task {
        void run() noexcept override;
        scheduler* owner = nullptr;
        model_ptr keep_alive;  ///< set while it is posted
        task_executor* home = nullptr;
    };

    scheduler(model_spec spec, std::unique_ptr<backend_model> model, const scheduler_options& options,
              std::shared_ptr<model_stats> stats);

    /// Carries out what the machine asks for until it asks for nothing more.
    void work(place at) noexcept;
    bool gather_again(task_executor& home) noexcept;
    void post_turn(const model_ptr& self, task_executor& home) noexcept;
    void expire(std::vector<infer_call_ptr> calls) noexcept;
    void occupy(slot& s, std::vector<infer_call_ptr>& members) noexcept;
    void watch_deadlines() noexcept;
    void dispatch(slot& s, bool run_inline) noexcept;
    bool launch(slot& s, bool run_inline) noexcept;
    void stop_unwanted(slot& s) noexcept;
    void finish(slot& s) noexcept;
    void take_finished(slot& s) noexcept;
    bool set_apart(slot& s) noexcept;
    bool next_alone(slot& s) noexcept;
    bool distribute(slot& s) noexcept;
    void end_overdue() noexcept;
    template <class Gone>
    void take_back(slot& s, Gone gone, std::vector<infer_call_ptr>& out) noexcept;
    void deliver(slot& s, time_point now) noexcept;
    void record_run(const slot& s) noexcept;
    void record_success(const infer_call& call, const slot& s, time_point now) noexcept;
    void fail(infer_call_ptr call, const error& why) noexcept;
    void fail_all(std::vector<infer_call_ptr> calls, const error& why) noexcept;

    std::unique_ptr<backend_model> model_;
    std::unique_ptr<alarm> queue_alarm_;     ///< for the machine
    std::unique_ptr<alarm> deadline_alarm_;  ///< for the deadlines of calls that run
    std::vector<std::unique_ptr<slot>> slots_;
    turn_end turn_;

    std::mutex mutex_;  ///< guards the seven below
    batcher machine_;
    run_time_estimate estimate_;
    drain_rate drained_;                     ///< requests that left a run
    time_point next_overdue_ = no_deadline;  ///< no later than the earliest deadline of a call that runs
    bool deadline_alarm_due_ = false;        ///< next_overdue_ has become earlier than the alarm is set to
    std::optional<error> refusal_;           ///< why calls are not taken
    std::atomic<bool> closed_{true};
};

}  // namespace asio_infer
