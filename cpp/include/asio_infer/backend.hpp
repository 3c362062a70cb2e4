#pragma once

#include <asio_infer/infer.hpp>
#include <asio_infer/model_spec.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace asio_infer {

class run_job;

/// Who hears that a run is over.
class run_receiver {
public:
    /// Called exactly once per async_run, on any thread, possibly before async_run returns; the job is the
    /// receiver's again.
    virtual void on_run_done(run_job& job) noexcept = 0;

protected:
    ~run_receiver() = default;
};

/// One run of one instance. The scheduler owns it and keeps its address stable; between async_run and on_run_done it
/// is the backend's.
class run_job {
public:
    /// What is run: calls whose inputs agree in presence, type and non-batch dims. Their tensors stay where they are
    /// until on_run_done. One member: its tensors are the run's inputs as they are. Several: rows are joined along
    /// axis 0 in this order.
    std::vector<infer_call*> members;
    std::uint32_t rows = 1;              ///< the sum of the members' rows
    std::vector<std::uint32_t> outputs;  ///< model outputs to compute, ascending: the union of what members want
    bool run_inline = false;             ///< may block the calling thread: it is short, or the caller waits anyway
    run_receiver* receiver = nullptr;

    /// Set by the backend: one tensor per entry of `outputs`, of all rows, or why the run failed.
    result<std::vector<tensor>> outcome = std::vector<tensor>{};
    /// Set by the backend: when the runtime started and ended (input gathering and output fetching lie outside).
    time_point compute_started{};
    time_point compute_ended{};
};

/// One copy of a model that runs one job at a time.
class backend_instance {
public:
    virtual ~backend_instance() = default;
    /// Starts the job and reports to job.receiver when it is done, with an outcome in every case. Not to be called
    /// again before that. Blocks only if job.run_inline.
    virtual void async_run(run_job& job) noexcept = 0;
    /// Asks a running job to end early; it still reports, with `cancelled` or what it had. Any thread.
    virtual void cancel() noexcept {}
};

/// A loaded model. Immutable; destroyed only when no instance runs.
class backend_model {
public:
    virtual ~backend_model() = default;
    /// Name, version, batching and queue members are the caller's to fill.
    virtual const model_spec& spec() const noexcept = 0;
    virtual std::uint32_t instance_count() const noexcept = 0;
    virtual backend_instance& instance(std::uint32_t index) noexcept = 0;
    /// Whether a row's results are the same alone and beside others, if the backend knows; otherwise it is found out
    /// by running the model.
    virtual std::optional<bool> rows_are_independent() const noexcept { return std::nullopt; }
    /// Whether the first runs are slower than those that follow, so that some are made before the model is ready.
    virtual bool needs_warm_up() const noexcept { return true; }
};

}  // namespace asio_infer
