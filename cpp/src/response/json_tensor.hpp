#pragma once

#include <asio_infer/tensor.hpp>
#include <string>

namespace asio_infer {

/// Appends a tensor's elements as a flat JSON array, row-major. Numbers are the shortest that read back exactly.
/// Returns "" or why JSON cannot carry it ("element 3 is nan"); `out` then ends anywhere.
std::string append_json_data(std::string& out, const tensor& value);

}  // namespace asio_infer
