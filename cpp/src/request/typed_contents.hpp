#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/infer.hpp>
#include <string_view>

namespace asio_infer {

/// The tensor that an InferTensorContents message gives, for an input whose type and shape are known and fit memory:
/// exactly as many values as the shape takes, in the one field that belongs to the type, each in the type's range.
/// Throws protozero's exceptions for bytes that are no such message, and std::bad_alloc.
result<void> read_typed_contents(std::string_view contents, named_tensor& input);

/// Whether the message has any value.
bool has_typed_contents(std::string_view contents);

}  // namespace asio_infer
