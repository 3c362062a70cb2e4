#pragma once

#include <asio_infer/backend.hpp>
#include <asio_infer/options.hpp>
#include <chrono>
#include <optional>
#include <string>

namespace asio_infer {

/// Whether requests to a model may share a run, and why or why not, in words.
struct probe_result {
    bool batchable = false;
    std::string reason;
};

/// Decides it when the model is loaded. A model is batchable if the leading dim is dynamic on every input and output
/// and rows do not influence each other: three distinct rows give the same results alone and together, to a few last
/// bits. Where that cannot be tried it is not, unless `choice` is on, which skips the trial. Throws invalid_request if
/// `choice` is on and the model's dims make it impossible, naming the tensor. Blocks for the runs; starts none once
/// they took `most_time`. No job may run on the model meanwhile.
probe_result probe_batching(backend_model& model, batching_options::mode choice,
                            clock::duration most_time = std::chrono::seconds(10));

/// Why the model's dims rule out a batch axis; nothing if they do not. Pure.
std::optional<std::string> batching_obstacle(const model_spec& spec);

/// How a row's result alone differs from its result beside others, naming the output; nothing if it does not. Numbers
/// may differ by a few last bits of the largest; `single`: what came in was not FP64, so FP64 results have the
/// precision of FP32. Pure.
std::optional<std::string> row_difference(const tensor& alone, const tensor& together, const std::string& output,
                                          bool single);

}  // namespace asio_infer
