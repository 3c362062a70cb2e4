#pragma once

#include <asio_infer/model_spec.hpp>
#include <asio_infer/tensor.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "backend/onnx/runtime.hpp"

namespace asio_infer::ort {

/// A value over the tensor's memory, which must be aligned and outlive it; strings (BYTES) are copied into the value.
/// Throws invalid_request if the bytes do not hold exactly the shape's elements.
handle<OrtValue> make_value(const runtime& rt, const tensor& source);

/// The tensor that a run gave for the output `spec`. Its bytes stay in the runtime's memory and keep the value; they
/// are copied if they are strings, or lie in one of the `inputs`, as those of an output that is an input of the model
/// do. Throws model_error if the value is not a tensor of the protocol.
tensor take_tensor(const runtime& rt, handle<OrtValue> value, const tensor_spec& spec,
                   const std::vector<std::span<const std::byte>>& inputs);

}  // namespace asio_infer::ort
