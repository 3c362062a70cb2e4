#pragma once

#include <asio_infer/tensor.hpp>
#include <span>

namespace asio_infer {

/// Joins tensors along axis 0 into new memory, aligned to tensor_alignment, with one copy. Throws std::bad_alloc.
/// Preconditions: at least one part; all of the same type, of a rank of 1 or more and of the same dims behind axis 0.
tensor gather_rows(std::span<const tensor* const> parts);

/// The same bytes in aligned memory of their own. Throws std::bad_alloc.
buffer aligned_copy(const buffer& source);

}  // namespace asio_infer
