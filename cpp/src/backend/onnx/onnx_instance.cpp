#include "backend/onnx/onnx_instance.hpp"

#include <boost/container/small_vector.hpp>
#include <new>
#include <string>
#include <utility>

#include "backend/onnx/values.hpp"
#include "core/gather.hpp"

namespace asio_infer::ort {
namespace {

/// The runtime's check of the inputs before it starts: the caller's mistake, not the model's. What a node of the model
/// refuses has the same code; its text starts with the node.
bool refused_inputs(const status_text& status) {
    return status.code == ORT_INVALID_ARGUMENT && !status.message.starts_with("Non-zero status code returned");
}

/// An input of a job: its one member's tensor, or all members' rows joined in `gathered`.
const tensor& joined_input(const run_job& job, std::size_t index, tensor& gathered) {
    if (job.members.size() == 1) return *job.members.front()->inputs[index];
    boost::container::small_vector<const tensor*, 32> parts;
    for (const infer_call* member : job.members) parts.push_back(member->inputs[index]);
    gathered = gather_rows(parts);
    return gathered;
}

}  // namespace

onnx_instance::onnx_instance(const model_context& model, handle<OrtSession> session, bool log_runs)
    : model_(model),
      api_(model.rt.api()),
      session_(std::move(session)),
      run_options_(create<OrtRunOptions>(api_, &ort_api::CreateRunOptions)) {
    if (!log_runs) check(api_, api_.RunOptionsSetRunLogSeverityLevel(run_options_.get(), ORT_LOGGING_LEVEL_FATAL));
}

void onnx_instance::async_run(run_job& job) noexcept {
    job_ = &job;
    begin();
    if (job.run_inline)
        run();
    else
        model_.workers.post(*this);
}

void onnx_instance::run() noexcept {
    run_job& job = *job_;
    job.outcome = try_execute(job);
    // The receiver may start the next job inside the call.
    job.receiver->on_run_done(job);
}

result<std::vector<tensor>> onnx_instance::try_execute(run_job& job) noexcept {
    result<std::vector<tensor>> outcome = error{errc::internal, "not run"};
    try {
        outcome = execute(job);
    } catch (const exception& failure) {
        outcome = error{failure.code(), failure.what()};
    } catch (const std::bad_alloc&) {
        outcome = error{errc::unavailable, "out of memory"};
    } catch (const std::exception& failure) {
        outcome = error{errc::internal, failure.what()};
    }
    clear();
    if (end() && outcome.has_error()) outcome = error{errc::cancelled, "cancelled"};
    return outcome;
}

std::vector<tensor> onnx_instance::execute(run_job& job) {
    bind_inputs(job);
    name_outputs(job);
    if (cancelled()) throw exception(errc::cancelled, "cancelled");
    call_runtime(job);
    std::vector<tensor> results;
    results.reserve(job.outputs.size());
    for (std::size_t i = 0; i < job.outputs.size(); ++i)
        results.push_back(
            take_tensor(model_.rt, std::move(outputs_[i]), model_.spec.outputs[job.outputs[i]], input_spans_));
    return results;
}

void onnx_instance::bind_inputs(const run_job& job) {
    const std::vector<tensor_spec>& specs = model_.spec.inputs;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (job.members.front()->inputs[i] == nullptr) continue;
        tensor gathered;
        const tensor& whole = joined_input(job, i, gathered);
        if (whole.data.aligned()) {
            bind_input(specs[i], whole);
            if (&whole == &gathered) input_copies_.push_back(std::move(gathered.data));
        } else {
            const tensor copy{whole.type, whole.shape, aligned_copy(whole.data)};
            bind_input(specs[i], copy);
            input_copies_.push_back(copy.data);
        }
    }
}

void onnx_instance::bind_input(const tensor_spec& spec, const tensor& value) {
    inputs_.push_back(make_value(model_.rt, value));
    input_pointers_.push_back(inputs_.back().get());
    input_names_.push_back(spec.name.c_str());
    input_spans_.push_back(value.data.bytes());
}

void onnx_instance::name_outputs(const run_job& job) {
    for (const std::uint32_t index : job.outputs) {
        const tensor_spec& spec = model_.spec.outputs[index];
        if (!spec.unsupported.empty())
            throw exception(errc::invalid_request,
                            "output '" + spec.name + "' is of type " + spec.unsupported + ", which cannot be served");
        output_names_.push_back(spec.name.c_str());
    }
    output_pointers_.assign(output_names_.size(), nullptr);
    outputs_.reserve(output_names_.size());
}

void onnx_instance::call_runtime(run_job& job) {
    job.compute_started = clock::now();
    OrtStatus* const failure =
        api_.Run(session_.get(), run_options_.get(), input_names_.data(), input_pointers_.data(),
                 input_pointers_.size(), output_names_.data(), output_names_.size(), output_pointers_.data());
    job.compute_ended = clock::now();
    // Owned before anything can throw; room for them is reserved.
    for (OrtValue* output : output_pointers_) outputs_.emplace_back(output, releaser<OrtValue>{&api_});
    if (failure == nullptr) return;
    status_text status = take_status(api_, failure);
    throw exception(refused_inputs(status) ? errc::invalid_request : errc::model_error, status.message);
}

void onnx_instance::clear() noexcept {
    inputs_.clear();
    input_pointers_.clear();
    input_names_.clear();
    input_spans_.clear();
    input_copies_.clear();
    output_names_.clear();
    output_pointers_.clear();
    outputs_.clear();
}

void onnx_instance::begin() noexcept {
    const std::lock_guard lock(cancel_mutex_);
    running_ = true;
    cancelled_ = false;
    if (!terminate_set_) return;
    if (OrtStatus* const failure = api_.RunOptionsUnsetTerminate(run_options_.get())) api_.ReleaseStatus(failure);
    terminate_set_ = false;
}

bool onnx_instance::end() noexcept {
    const std::lock_guard lock(cancel_mutex_);
    running_ = false;
    return cancelled_;
}

bool onnx_instance::cancelled() const noexcept {
    const std::lock_guard lock(cancel_mutex_);
    return cancelled_;
}

void onnx_instance::cancel() noexcept {
    const std::lock_guard lock(cancel_mutex_);
    if (!running_) return;
    cancelled_ = true;
    terminate_set_ = true;
    if (OrtStatus* const failure = api_.RunOptionsSetTerminate(run_options_.get())) api_.ReleaseStatus(failure);
}

}  // namespace asio_infer::ort
