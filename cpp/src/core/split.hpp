#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/tensor.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace asio_infer {

/// Cuts the output of a whole batch into one tensor for each member along axis 0. The parts share the whole's bytes.
/// `rows` are the members' rows in order. model_error naming `output` if its leading dim is not their sum, or if its
/// bytes contradict its shape. Pure.
result<std::vector<tensor>> split_rows(const tensor& whole, std::span<const std::uint32_t> rows,
                                       std::string_view output);

}  // namespace asio_infer
