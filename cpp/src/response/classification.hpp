#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/tensor.hpp>
#include <cstdint>

namespace asio_infer {

/// The k highest elements as "value:index" strings, highest first, equal ones by index: for each row along axis 0
/// (shape [rows,k]), or of the whole tensor (shape [k]). Fewer than k elements give what there is; a NaN comes last.
/// invalid_request if the elements are not numbers.
result<tensor> classify(const tensor& scores, std::uint32_t k, bool by_row);

}  // namespace asio_infer
