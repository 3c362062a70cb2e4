#pragma once

#include <asio_infer/dtype.hpp>
#include <asio_infer/options.hpp>
#include <asio_infer/shape.hpp>
#include <chrono>
#include <cstdint>

#include "backend/identity/fault_rule.hpp"

namespace asio_infer {

/// What an identity model is told by model_options::backend_options.
struct identity_options {
    dtype type = dtype::fp32;           ///< "datatype": of all tensors
    asio_infer::shape shape{-1, -1};    ///< "shape": of all tensors, batch axis included; "" is a scalar
    std::uint32_t tensors = 1;          ///< "inputs": INPUT0.. are answered as OUTPUT0..
    std::chrono::nanoseconds delay{0};  ///< "delay_s": how long a run takes
    fault_rule fault;                   ///< "fail": see fault_rule
};

/// Throws invalid_request, naming the option, for an unknown one or a value that it cannot take.
identity_options parse_identity_options(const string_map& given);

}  // namespace asio_infer
