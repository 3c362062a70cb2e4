#include "backend/identity/identity_model.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "backend/identity/identity_options.hpp"
#include "core/executor.hpp"
#include "core/gather.hpp"

namespace asio_infer {
namespace {

/// What the instances share. Outlives them.
struct identity_context {
    identity_options options;
    model_spec spec;
    task_executor& workers;
    std::atomic<std::uint64_t> runs{0};  ///< of all instances
};

/// Echoes on a worker, or on the caller's thread if the job may block it; a delay blocks that thread.
class identity_instance final : public backend_instance, private task {
public:
    explicit identity_instance(identity_context& model) : model_(model) {}

    void async_run(run_job& job) noexcept override {
        job_ = &job;
        {
            const std::lock_guard lock(mutex_);
            running_ = true;
            cancelled_ = false;
        }
        if (job.run_inline)
            run();
        else
            model_.workers.post(*this);
    }

    void cancel() noexcept override {
        const std::lock_guard lock(mutex_);
        cancelled_ = running_;
        wake_.notify_one();
    }

private:
    void run() noexcept override {
        run_job& job = *job_;
        job.compute_started = clock::now();
        const bool in_time = wait_for_delay();
        job.outcome = in_time ? try_echo(job) : error{errc::cancelled, "cancelled"};
        job.compute_ended = clock::now();
        // The receiver may start the next job inside the call.
        job.receiver->on_run_done(job);
    }

    /// False if the run was cancelled meanwhile.
    bool wait_for_delay() noexcept {
        std::unique_lock lock(mutex_);
        if (model_.options.delay.count() > 0) wake_.wait_for(lock, model_.options.delay, [&] { return cancelled_; });
        running_ = false;
        return !cancelled_;
    }

    result<std::vector<tensor>> try_echo(const run_job& job) noexcept {
        try {
            return echo(job);
        } catch (const std::bad_alloc&) {
            return error{errc::unavailable, "out of memory"};
        }
    }

    result<std::vector<tensor>> echo(const run_job& job) {
        if (model_.options.fault.fails_by_number(model_.runs.fetch_add(1) + 1))
            return error{errc::model_error, "this run was told to fail"};
        for (const infer_call* member : job.members)
            for (const tensor* input : member->inputs)
                if (model_.options.fault.fails_by_row(*input))
                    return error{errc::model_error, "a row of this run was told to fail"};
        std::vector<tensor> outputs;
        outputs.reserve(job.outputs.size());
        for (const std::uint32_t index : job.outputs) outputs.push_back(joined(job, index));
        return outputs;
    }

    /// All members' rows in memory of their own: an answer does not keep a request alive.
    static tensor joined(const run_job& job, std::uint32_t index) {
        if (job.members.size() == 1) {
            const tensor& input = *job.members.front()->inputs[index];
            return {input.type, input.shape, aligned_copy(input.data)};
        }
        std::vector<const tensor*> parts;
        parts.reserve(job.members.size());
        for (const infer_call* member : job.members) parts.push_back(member->inputs[index]);
        return gather_rows(parts);
    }

    identity_context& model_;
    run_job* job_ = nullptr;
    std::mutex mutex_;  ///< guards the rest
    std::condition_variable wake_;
    bool running_ = false;
    bool cancelled_ = false;
};

model_spec describe(const model_options& options, const identity_options& identity) {
    model_spec spec;
    spec.name = options.name;
    spec.version = options.version;
    spec.platform = "identity";
    spec.backend = "identity";
    spec.instances = options.instances;
    for (std::uint32_t i = 0; i < identity.tensors; ++i) {
        tensor_spec tensor;
        tensor.type = identity.type;
        tensor.shape = identity.shape;
        tensor.symbols.resize(identity.shape.size());
        tensor.name = "INPUT" + std::to_string(i);
        spec.inputs.push_back(tensor);
        tensor.name = "OUTPUT" + std::to_string(i);
        spec.outputs.push_back(std::move(tensor));
    }
    return spec;
}

class identity_model final : public backend_model {
public:
    identity_model(const model_options& options, identity_options identity, task_executor& workers)
        : shared_{.options = std::move(identity), .spec = {}, .workers = workers} {
        shared_.spec = describe(options, shared_.options);
        for (std::uint32_t i = 0; i < options.instances; ++i)
            instances_.push_back(std::make_unique<identity_instance>(shared_));
    }

    const model_spec& spec() const noexcept override { return shared_.spec; }
    std::uint32_t instance_count() const noexcept override { return static_cast<std::uint32_t>(instances_.size()); }
    backend_instance& instance(std::uint32_t index) noexcept override { return *instances_[index]; }
    std::optional<bool> rows_are_independent() const noexcept override { return true; }
    bool needs_warm_up() const noexcept override { return false; }

private:
    identity_context shared_;
    std::vector<std::unique_ptr<identity_instance>> instances_;
};

}  // namespace

std::unique_ptr<backend_model> load_identity(const model_options& options, const backend_context& context) {
    if (options.instances == 0) throw exception(errc::invalid_request, "instances must be at least 1");
    return std::make_unique<identity_model>(options, parse_identity_options(options.backend_options), context.workers);
}

}  // namespace asio_infer
