#pragma once

#include <asio_infer/backend.hpp>
#include <asio_infer/log.hpp>
#include <asio_infer/options.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "core/executor.hpp"

namespace asio_infer {

/// What every backend may use. All of it outlives the models.
struct backend_context {
    const runtime_options& runtime;
    task_executor& workers;  ///< where runs block; has a thread to spare for each instance
    log_sink& log;
};

/// Loads a model with the backend of this name: a row of the table in backend_table.cpp. Blocks. Throws
/// invalid_request for an unknown name, and what the backend throws.
std::unique_ptr<backend_model> make_backend_model(std::string_view name, const model_options& options,
                                                  const backend_context& context);

/// Version of the ONNX Runtime that is loaded; "" while none is. Thread-safe.
std::string onnxruntime_version();

}  // namespace asio_infer
