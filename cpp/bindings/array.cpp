#include "array.hpp"

#include <asio_infer/error.hpp>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// pybind11's numpy header narrows here and there.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <pybind11/numpy.h>
#pragma GCC diagnostic pop

namespace asio_infer::bindings {

namespace {

/// Up to here a plain copy with the GIL is cheaper than numpy's, which releases it.
constexpr std::size_t small_copy_bytes = std::size_t{64} << 10;
/// From here on an output keeps the runtime's memory instead of being copied out of it.
constexpr std::size_t keep_memory_bytes = std::size_t{16} << 10;

std::string describe(const py::dtype& type) { return py::cast<std::string>(py::str(type)); }

std::string input_text(std::string_view input) { return "input '" + std::string(input) + "'"; }

std::optional<dtype> integer_type(char kind, py::ssize_t size) {
    const bool is_signed = kind == 'i';
    switch (size) {
        case 1:
            return is_signed ? dtype::int8 : dtype::uint8;
        case 2:
            return is_signed ? dtype::int16 : dtype::uint16;
        case 4:
            return is_signed ? dtype::int32 : dtype::uint32;
        case 8:
            return is_signed ? dtype::int64 : dtype::uint64;
        default:
            return std::nullopt;
    }
}

std::optional<dtype> float_type(py::ssize_t size) {
    switch (size) {
        case 2:
            return dtype::fp16;
        case 4:
            return dtype::fp32;
        case 8:
            return dtype::fp64;
        default:
            return std::nullopt;
    }
}

/// numpy's kinds: b bool, i u integers, f floats, O objects, S U T text, V others, bfloat16 of ml_dtypes among them.
std::optional<dtype> protocol_type(const py::dtype& type) {
    switch (type.kind()) {
        case 'b':
            return dtype::boolean;
        case 'i':
        case 'u':
            return integer_type(type.kind(), type.itemsize());
        case 'f':
            return float_type(type.itemsize());
        case 'O':
        case 'S':
        case 'U':
        case 'T':
            return dtype::bytes;
        default:
            return describe(type) == "bfloat16" ? std::optional(dtype::bf16) : std::nullopt;
    }
}

/// The protocol's type of this array in this input. Throws TypeError.
dtype accepted_type(const py::dtype& type, std::string_view input, const dtype* wanted) {
    const std::optional<dtype> given = protocol_type(type);
    if (!given) {
        throw_python(PyExc_TypeError,
                     input_text(input) + ": dtype " + describe(type) + " has no datatype in the inference protocol");
    }
    if (wanted == nullptr || *given == *wanted) {
        return *given;
    }
    if (*given == dtype::uint16 && *wanted == dtype::bf16) {
        return dtype::bf16;
    }
    throw_python(PyExc_TypeError, input_text(input) + ": dtype " + describe(type) + " is " + std::string(name(*given)) +
                                      ", the model takes " + std::string(name(*wanted)));
}

shape shape_of(const py::array& array) {
    shape dims;
    for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
        dims.push_back(array.shape(axis));
    }
    return dims;
}

bool is_packed(const py::array& array) {
    return (array.flags() & py::array::c_style) != 0 && array.dtype().byteorder() != '>';
}

buffer copy_numbers(const py::array& array) {
    unique_buffer memory(static_cast<std::size_t>(array.nbytes()));
    if (memory.size() <= small_copy_bytes && is_packed(array)) {
        if (memory.size() > 0) {
            std::memcpy(memory.data(), array.data(), memory.size());
        }
        return std::move(memory).share();
    }
    const py::dtype type = array.dtype();
    const py::dtype native = type.byteorder() == '>' ? py::dtype::from_args(type.attr("newbyteorder")("<")) : type;
    const std::vector<py::ssize_t> dims(array.shape(), array.shape() + array.ndim());
    // numpy copies, whatever the strides, and lets other Python threads run meanwhile.
    py::array view(native, dims, memory.data(), py::none());
    view[py::ellipsis()] = array;
    return std::move(memory).share();
}

/// One element of a BYTES input: text as UTF-8. The view lives as long as the element.
std::string_view element_bytes(py::handle element, std::string_view input, std::size_t position) {
    if (PyBytes_Check(element.ptr())) {
        return {PyBytes_AS_STRING(element.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(element.ptr()))};
    }
    if (!PyUnicode_Check(element.ptr())) {
        throw_python(PyExc_TypeError, input_text(input) + ": element " + std::to_string(position) +
                                          " of the object array is a " + Py_TYPE(element.ptr())->tp_name +
                                          ", not str or bytes");
    }
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(element.ptr(), &size);
    if (text == nullptr) {
        PyErr_Clear();
        throw exception(errc::invalid_request, input_text(input) + ": element " + std::to_string(position) +
                                                   " holds a lone surrogate, which UTF-8 cannot carry");
    }
    return {text, static_cast<std::size_t>(size)};
}

void append_element(std::string& packed, std::string_view element, std::string_view input, std::size_t position) {
    if (element.size() > std::numeric_limits<std::uint32_t>::max()) {
        throw exception(errc::invalid_request,
                        input_text(input) + ": element " + std::to_string(position) + " is longer than 4 GiB");
    }
    const auto size = static_cast<std::uint32_t>(element.size());
    for (const unsigned shift : {0U, 8U, 16U, 24U}) {
        packed += static_cast<char>(size >> shift & 0xffU);
    }
    packed += element;
}

buffer pack_text(const py::array& array, std::string_view input) {
    const py::list elements = array.attr("astype")("O").attr("ravel")().attr("tolist")();
    std::string packed;
    std::size_t position = 0;
    for (const py::handle element : elements) {
        append_element(packed, element_bytes(element, input, position), input, position);
        ++position;
    }
    unique_buffer memory(packed.size());
    std::memcpy(memory.data(), packed.data(), packed.size());
    return std::move(memory).share();
}

py::dtype bfloat16_type() {
    const py::object type = py::module_::import("asio_infer._arrays").attr("bfloat16")();
    return py::dtype::from_args(type);
}

py::dtype numpy_type(dtype type) {
    switch (type) {
        case dtype::boolean:
            return py::dtype::of<bool>();
        case dtype::uint8:
            return py::dtype::of<std::uint8_t>();
        case dtype::uint16:
            return py::dtype::of<std::uint16_t>();
        case dtype::uint32:
            return py::dtype::of<std::uint32_t>();
        case dtype::uint64:
            return py::dtype::of<std::uint64_t>();
        case dtype::int8:
            return py::dtype::of<std::int8_t>();
        case dtype::int16:
            return py::dtype::of<std::int16_t>();
        case dtype::int32:
            return py::dtype::of<std::int32_t>();
        case dtype::int64:
            return py::dtype::of<std::int64_t>();
        case dtype::fp16:
            return py::dtype("e");
        case dtype::fp32:
            return py::dtype::of<float>();
        case dtype::fp64:
            return py::dtype::of<double>();
        case dtype::bf16:
            return bfloat16_type();
        case dtype::bytes:
            break;
    }
    return py::dtype("O");
}

py::array unpack_text(const tensor& value) {
    const std::vector<py::ssize_t> dims(value.shape.begin(), value.shape.end());
    py::array array(numpy_type(dtype::bytes), dims);
    auto** slot = static_cast<PyObject**>(array.mutable_data());
    const std::byte* at = value.data.data();
    const std::byte* const end = at + value.data.size();
    for (py::ssize_t left = array.size(); left > 0; --left, ++slot) {
        std::uint32_t size = 0;
        if (end - at < static_cast<std::ptrdiff_t>(sizeof size)) {
            throw exception(errc::internal, "a BYTES output ends within an element");
        }
        std::memcpy(&size, at, sizeof size);
        at += sizeof size;
        if (static_cast<std::size_t>(end - at) < size) {
            throw exception(errc::internal, "a BYTES output ends within an element");
        }
        PyObject* const element = PyBytes_FromStringAndSize(reinterpret_cast<const char*>(at), size);
        if (element == nullptr) {
            throw py::error_already_set();
        }
        Py_XDECREF(std::exchange(*slot, element));
        at += size;
    }
    return array;
}

/// An array over the tensor's own memory, which it keeps.
py::array keep_memory(const py::dtype& type, const std::vector<py::ssize_t>& dims, buffer&& data) {
    auto owner = std::make_unique<buffer>(std::move(data));
    const std::byte* const bytes = owner->data();
    const py::capsule base(owner.get(), [](void* kept) { delete static_cast<buffer*>(kept); });
    owner.release();
    return {type, dims, bytes, base};
}

}  // namespace

bool is_array(py::handle value) {
    // An array can only exist once somebody has imported numpy.
    const py::handle modules = PyImport_GetModuleDict();
    return PyDict_GetItemString(modules.ptr(), "numpy") != nullptr && py::isinstance<py::array>(value);
}

tensor tensor_from_array(py::handle value, std::string_view input, const dtype* wanted) {
    const auto array = py::reinterpret_borrow<py::array>(value);
    tensor result;
    result.type = accepted_type(array.dtype(), input, wanted);
    result.shape = shape_of(array);
    result.data = result.type == dtype::bytes ? pack_text(array, input) : copy_numbers(array);
    return result;
}

py::object array_from_tensor(tensor&& value) {
    if (value.type == dtype::bytes) {
        return unpack_text(value);
    }
    const py::dtype type = numpy_type(value.type);
    const std::vector<py::ssize_t> dims(value.shape.begin(), value.shape.end());
    if (value.data.size() >= keep_memory_bytes && value.data.sole_owner()) {
        return keep_memory(type, dims, std::move(value.data));
    }
    py::array array(type, dims);
    if (value.data.size() > 0) {
        std::memcpy(array.mutable_data(), value.data.data(), value.data.size());
    }
    return array;
}

}  // namespace asio_infer::bindings
