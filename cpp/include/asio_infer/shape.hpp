#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace asio_infer {

/// Dimensions of a tensor, outermost first. -1 stands for an unknown dimension and occurs in model metadata only;
/// the shape of a tensor that exists has no negative dimension. Ranks up to 6 need no allocation.
using shape = boost::container::small_vector<std::int64_t, 6>;

/// The number of elements, or nothing if a dimension is negative or the product does not fit 63 bits. A zero
/// anywhere makes the product 0, but the other dimensions must still multiply without overflow.
std::optional<std::size_t> element_count(std::span<const std::int64_t> dims) noexcept;

/// "[2,3]", for messages.
std::string to_string(std::span<const std::int64_t> dims);

}  // namespace asio_infer
