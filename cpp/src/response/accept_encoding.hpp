#pragma once

#include <cstdint>
#include <string_view>

namespace asio_infer {

/// How a body may be coded.
enum class content_coding : std::uint8_t { identity, gzip, deflate };

/// What a client prefers by its Accept-Encoding header (RFC 9110, 12.5.3): the highest weight wins, gzip before
/// deflate before identity where weights are equal. Without a header, or where nothing offered is acceptable:
/// identity. Pure.
content_coding choose_coding(std::string_view accept_encoding) noexcept;

}  // namespace asio_infer
