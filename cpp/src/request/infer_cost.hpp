#pragma once

#include <asio_infer/infer.hpp>
#include <cstddef>
#include <optional>

#include "core/message.hpp"

namespace asio_infer {

/// What Inference-Header-Content-Length says, if it is a number.
std::optional<std::size_t> announced_json_bytes(const request_message& request) noexcept;

/// Bytes of JSON in the body of an inference request: all of it without Inference-Header-Content-Length. A value of
/// that header which is none counts as all; decoding refuses it.
std::size_t json_bytes(const request_message& request) noexcept;

/// Bytes of the inputs that do not lie in the body.
std::size_t bytes_beside(const infer_request& request, const buffer& body) noexcept;

/// About how many bytes the answer's JSON will have for its tensors; 0 for a call that failed.
std::size_t expected_json_bytes(const infer_call& call) noexcept;

/// Bytes of the answer that leave in binary form.
std::size_t binary_bytes(const infer_call& call) noexcept;

/// arrived + timeout_us, or no_deadline where that is 0 or beyond what the clock can say.
time_point deadline_after(time_point arrived, std::uint64_t timeout_us) noexcept;

}  // namespace asio_infer
