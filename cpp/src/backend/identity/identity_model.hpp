#pragma once

#include <asio_infer/backend.hpp>
#include <asio_infer/options.hpp>
#include <memory>

#include "backend/backend_table.hpp"

namespace asio_infer {

/// A model that answers its inputs INPUT0.. as OUTPUT0.., for tests and benchmarks. It can take a given time and fail
/// on request: identity_options.hpp. Throws invalid_request for options that cannot be.
std::unique_ptr<backend_model> load_identity(const model_options& options, const backend_context& context);

}  // namespace asio_infer
