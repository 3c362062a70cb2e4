#pragma once

#include <asio_infer/log.hpp>
#include <asio_infer/options.hpp>
#include <string>
#include <vector>

#include "backend/onnx/runtime.hpp"

namespace asio_infer::ort {

/// What sessions of one model are made with.
struct session_setup {
    handle<OrtSessionOptions> options;
    std::vector<std::string> providers;  ///< in use, best first
    bool log_severity_given = false;     ///< the model's user chose what its sessions log
};

/// Builds the session options from the model's: attributes by the names of onnxruntime.SessionOptions, config entries
/// and execution providers. Sessions share the runtime's threads unless the model asks for threads of its own. Throws
/// invalid_request for an unknown attribute, a value that it cannot take, or a provider that is missing.
session_setup make_session_setup(const runtime& rt, const model_options& model, log_sink& log);

}  // namespace asio_infer::ort
