#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/infer.hpp>
#include <asio_infer/limits.hpp>

#include "core/message.hpp"

namespace asio_infer {

/// Reads an inference request of the Open Inference Protocol v2 over REST: JSON, or JSON followed by binary tensors
/// when the header Inference-Header-Content-Length gives the length of the JSON. Binary tensors stay in the message's
/// body and share it; JSON numbers are converted exactly and go straight into the tensors' memory.
///
/// Every error is invalid_request with a message that names the field or tensor. Strict where the protocol is silent:
/// a key that repeats, bytes behind the document, a byte order mark and a lone surrogate are refused; unknown keys are
/// ignored. What a request can make this allocate is bounded by a small multiple of its own size, never by a shape
/// that it declares. Pure, thread-safe. Throws std::bad_alloc.
result<infer_request> decode_infer(const request_message& message, const limits& bounds);

}  // namespace asio_infer
