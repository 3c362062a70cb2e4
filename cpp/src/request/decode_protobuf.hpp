#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/infer.hpp>
#include <asio_infer/limits.hpp>
#include <cstddef>
#include <string_view>

namespace asio_infer {

/// What a ModelInferRequest says. The views point into its message.
struct protobuf_infer {
    std::string_view model;
    std::string_view version;  ///< "" for the highest
    infer_request request;
};

/// Reads an inference request of the Open Inference Protocol v2 over gRPC. Raw contents stay in the message and share
/// it; typed contents are converted. All inputs are raw or none is; FP16 and BF16 can only be raw; an empty message of
/// typed contents counts as none.
///
/// Every error is invalid_request with a message that names the field or tensor; what was read before it is in `out`,
/// so that an answer can bear the request's id. What a message can make this allocate is bounded by a small multiple of
/// its own size. Pure, thread-safe. Throws std::bad_alloc.
result<void> decode_infer_protobuf(const buffer& message, const limits& bounds, protobuf_infer& out);

/// Where in a ModelInferRequest the first raw tensor starts, as far as its first bytes tell; 0 if they do not.
std::size_t first_raw_tensor(std::string_view first_bytes) noexcept;

}  // namespace asio_infer
