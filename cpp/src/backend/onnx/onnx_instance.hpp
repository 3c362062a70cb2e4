#pragma once

#include <asio_infer/backend.hpp>
#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "backend/onnx/runtime.hpp"
#include "core/executor.hpp"

namespace asio_infer::ort {

/// What the instances of a model share. Outlives them.
struct model_context {
    const runtime& rt;
    const model_spec& spec;
    task_executor& workers;
};

/// One session. Runs are synchronous calls of the runtime, on a worker unless the job may block its caller.
class onnx_instance final : public backend_instance, private task {
public:
    /// `log_runs`: the runtime logs what fails in a run, too; it is always told to the caller.
    onnx_instance(const model_context& model, handle<OrtSession> session, bool log_runs);

    void async_run(run_job& job) noexcept override;
    void cancel() noexcept override;

private:
    void run() noexcept override;
    result<std::vector<tensor>> try_execute(run_job& job) noexcept;
    std::vector<tensor> execute(run_job& job);
    void bind_inputs(const run_job& job);
    void bind_input(const tensor_spec& spec, const tensor& value);
    void name_outputs(const run_job& job);
    void call_runtime(run_job& job);
    void clear() noexcept;

    /// cancel() may come at any time from any thread and must only reach the job it was meant for.
    void begin() noexcept;
    bool end() noexcept;
    bool cancelled() const noexcept;

    const model_context& model_;
    const ort_api& api_;
    const handle<OrtSession> session_;
    const handle<OrtRunOptions> run_options_;
    run_job* job_ = nullptr;

    // Of the current run; kept for their memory.
    std::vector<const char*> input_names_;
    std::vector<handle<OrtValue>> inputs_;
    std::vector<const OrtValue*> input_pointers_;
    std::vector<std::span<const std::byte>> input_spans_;  ///< where the inputs lie
    std::vector<buffer> input_copies_;                     ///< those that had to be gathered or aligned
    std::vector<const char*> output_names_;
    std::vector<OrtValue*> output_pointers_;
    std::vector<handle<OrtValue>> outputs_;

    mutable std::mutex cancel_mutex_;  ///< guards the three below
    bool running_ = false;
    bool cancelled_ = false;
    bool terminate_set_ = false;  ///< the run options still carry the flag
};

}  // namespace asio_infer::ort
