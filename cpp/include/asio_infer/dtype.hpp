#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace asio_infer {

/// Element types of the Open Inference Protocol v2 ("datatype" on the wire). The values index `dtype_table`.
enum class dtype : std::uint8_t {
    boolean,  ///< one byte, 0 or 1
    uint8,
    uint16,
    uint32,
    uint64,
    int8,
    int16,
    int32,
    int64,
    fp16,   ///< IEEE 754 binary16
    fp32,   ///< IEEE 754 binary32
    fp64,   ///< IEEE 754 binary64
    bf16,   ///< the upper half of a binary32
    bytes,  ///< variable length: each element is a 4-byte little-endian length and that many bytes
};

struct dtype_info {
    dtype type;
    std::string_view name;  ///< the protocol's name, case-sensitive
    std::size_t size;       ///< bytes per element; 0 for `bytes`, whose elements vary
};

inline constexpr std::array<dtype_info, 14> dtype_table{{
    {dtype::boolean, "BOOL", 1},
    {dtype::uint8, "UINT8", 1},
    {dtype::uint16, "UINT16", 2},
    {dtype::uint32, "UINT32", 4},
    {dtype::uint64, "UINT64", 8},
    {dtype::int8, "INT8", 1},
    {dtype::int16, "INT16", 2},
    {dtype::int32, "INT32", 4},
    {dtype::int64, "INT64", 8},
    {dtype::fp16, "FP16", 2},
    {dtype::fp32, "FP32", 4},
    {dtype::fp64, "FP64", 8},
    {dtype::bf16, "BF16", 2},
    {dtype::bytes, "BYTES", 0},
}};

constexpr const dtype_info& info(dtype type) noexcept { return dtype_table[static_cast<std::size_t>(type)]; }
constexpr std::string_view name(dtype type) noexcept { return info(type).name; }
/// Bytes per element; 0 for `bytes`.
constexpr std::size_t element_size(dtype type) noexcept { return info(type).size; }

/// The type with this protocol name, or nothing.
constexpr std::optional<dtype> dtype_from_name(std::string_view name) noexcept {
    for (const dtype_info& row : dtype_table)
        if (row.name == name) return row.type;
    return std::nullopt;
}

static_assert([] {
    for (std::size_t i = 0; i < dtype_table.size(); ++i)
        if (static_cast<std::size_t>(dtype_table[i].type) != i) return false;
    return true;
}());

}  // namespace asio_infer
