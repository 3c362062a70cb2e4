#pragma once

#include <asio_infer/backend.hpp>
#include <asio_infer/options.hpp>
#include <memory>

#include "backend/backend_table.hpp"

namespace asio_infer {

/// Loads an ONNX model: one session for each instance, from the file if a path is given (so that weights beside it are
/// found from any working directory), otherwise from the bytes. Blocks. Throws runtime_unavailable without ONNX
/// Runtime, invalid_request for options or a file that cannot be, model_error with the runtime's reason for a model
/// that it refuses.
std::unique_ptr<backend_model> load_onnx(const model_options& options, const backend_context& context);

}  // namespace asio_infer
