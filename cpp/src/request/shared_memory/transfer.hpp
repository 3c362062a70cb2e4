#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/infer.hpp>
#include <cstddef>

#include "request/shared_memory/shared_memory_registry.hpp"

namespace asio_infer {

/// Bytes of the inputs that are in shared memory; the largest number if their sum overflows.
std::size_t shared_input_bytes(const infer_request& request) noexcept;
/// Bytes of the outputs that go to shared memory; 0 for a call that failed.
std::size_t shared_output_bytes(const infer_call& call) noexcept;

/// Reads the inputs that are in shared memory, which have type and shape already. invalid_request names the input.
/// `registry` is null where the server does not offer shared memory. Heavy for large tensors. Throws std::bad_alloc.
result<void> read_shared_inputs(infer_request& request, const shared_memory_registry* registry);

/// Writes the outputs that the request wants in shared memory. invalid_request names the output.
result<void> write_shared_outputs(const infer_call& call, const shared_memory_registry* registry);

}  // namespace asio_infer
