#pragma once

#include <array>
#include <asio_infer/dtype.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "backend/onnx/ort_types.hpp"

namespace asio_infer::ort {

/// One element type of ONNX: its name in types such as "tensor(float)", and the protocol's type, if it has one.
struct element_type_row {
    std::string_view name;
    std::optional<dtype> type;
};

/// Indexed by ONNXTensorElementDataType.
inline constexpr std::array<element_type_row, 24> element_types{{
    {"undefined", std::nullopt},      {"float", dtype::fp32},
    {"uint8", dtype::uint8},          {"int8", dtype::int8},
    {"uint16", dtype::uint16},        {"int16", dtype::int16},
    {"int32", dtype::int32},          {"int64", dtype::int64},
    {"string", dtype::bytes},         {"bool", dtype::boolean},
    {"float16", dtype::fp16},         {"double", dtype::fp64},
    {"uint32", dtype::uint32},        {"uint64", dtype::uint64},
    {"complex64", std::nullopt},      {"complex128", std::nullopt},
    {"bfloat16", dtype::bf16},        {"float8e4m3fn", std::nullopt},
    {"float8e4m3fnuz", std::nullopt}, {"float8e5m2", std::nullopt},
    {"float8e5m2fnuz", std::nullopt}, {"uint4", std::nullopt},
    {"int4", std::nullopt},           {"float4e2m1", std::nullopt},
}};

constexpr std::optional<dtype> dtype_of(ONNXTensorElementDataType code) noexcept {
    const auto index = static_cast<std::size_t>(code);
    return index < element_types.size() ? element_types[index].type : std::nullopt;
}

/// The name, or "element type 99" for a code of a newer runtime.
inline std::string element_name(ONNXTensorElementDataType code) {
    const auto index = static_cast<std::size_t>(code);
    if (index < element_types.size()) return std::string(element_types[index].name);
    return "element type " + std::to_string(static_cast<int>(code));
}

constexpr ONNXTensorElementDataType code_of(dtype type) noexcept {
    for (std::size_t code = 0; code < element_types.size(); ++code)
        if (element_types[code].type == type) return static_cast<ONNXTensorElementDataType>(code);
    return ONNXTensorElementDataType{};
}

}  // namespace asio_infer::ort
