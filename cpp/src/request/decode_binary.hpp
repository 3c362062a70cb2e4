#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/tensor.hpp>

#include "request/json_request.hpp"

namespace asio_infer {

/// Gives the binary inputs their data: slices of `section`, which follow each other in the order of the JSON and must
/// fill it exactly. Checks that each has as many bytes as its shape and type take, that strings' lengths add up, and
/// that booleans are 0 or 1. Copies nothing.
result<void> attach_binary(json_request& parsed, const buffer& section);

}  // namespace asio_infer
