#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/infer.hpp>
#include <string_view>

namespace asio_infer {

/// Checks the bytes of an input that came in binary form: as many as its shape and type take, strings' lengths that
/// add up, booleans that are 0 or 1. `size_is` begins the message about a wrong size ("binary_data_size is").
/// Precondition: the shape's element and byte counts fit (check_element_count).
result<void> check_binary_tensor(const named_tensor& input, std::string_view size_is);

/// Whether memory could hold a tensor of this shape and type.
bool fits_memory(const tensor& value) noexcept;

}  // namespace asio_infer
