#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/tensor.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/byte_budget.hpp"

namespace asio_infer {

/// How a request's body is coded (RFC 9110, 8.4.1).
enum class body_coding : std::uint8_t {
    identity,
    gzip,     ///< RFC 1952; several members in a row are one body
    deflate,  ///< RFC 1950: the zlib format
};

/// What a Content-Encoding header says; nothing if it is another coding, or more than one.
std::optional<body_coding> parse_body_coding(std::string_view content_encoding) noexcept;

/// Expands a coded body, which is not `identity`. `limit`: the most bytes that it may have then; over it the error is
/// too_large. invalid_request for bytes that are not that coding, end early, or go on behind the end. The bytes, which
/// are aligned to tensor_alignment at `aligned_at`, are taken from the budget by `lease` as they come; unavailable if
/// it has none left. Heavy: not for network threads. Throws std::bad_alloc.
result<buffer> expand_body(std::span<const std::byte> coded, body_coding coding, std::size_t limit,
                           std::size_t aligned_at, byte_lease& lease);

}  // namespace asio_infer
