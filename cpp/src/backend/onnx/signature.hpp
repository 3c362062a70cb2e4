#pragma once

#include <asio_infer/model_spec.hpp>
#include <vector>

#include "backend/onnx/runtime.hpp"

namespace asio_infer::ort {

/// What a session takes and gives. Initializers that a caller may override are inputs marked optional, as are
/// inputs of ONNX's optional type.
struct signature {
    std::vector<tensor_spec> inputs;
    std::vector<tensor_spec> outputs;
};

/// Reads it from the session. Throws invalid_request if an input that must be given has a type that the protocol
/// cannot carry, naming both.
signature read_signature(const runtime& rt, const OrtSession* session);

}  // namespace asio_infer::ort
