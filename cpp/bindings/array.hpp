#pragma once

#include <asio_infer/dtype.hpp>
#include <asio_infer/tensor.hpp>
#include <string_view>

#include "python.hpp"

namespace asio_infer::bindings {

/// Whether the object is a numpy array; never imports numpy.
bool is_array(py::handle value);

/// The array's values, copied: row-major, packed, little-endian, aligned. Any strides, byte order and rank. Throws
/// TypeError naming input and dtype where no datatype of the protocol, or not `wanted`, fits. `wanted` is the type of
/// the model's input; null if the model has no such input. A uint16 array stands for the bits of BF16.
/// Holds the GIL but for copies above 64 KiB.
tensor tensor_from_array(py::handle array, std::string_view input, const dtype* wanted);

/// A writable numpy array that owns its memory or is the only one to keep it. BYTES: dtype object, elements bytes.
/// BF16: ml_dtypes.bfloat16 where ml_dtypes is installed, otherwise the bits as uint16. Takes the tensor's memory
/// where it is large and nobody else's.
py::object array_from_tensor(tensor&& value);

}  // namespace asio_infer::bindings
