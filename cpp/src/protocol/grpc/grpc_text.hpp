#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace asio_infer::grpc {

/// What a header `grpc-timeout` says: 1 to 8 digits and a unit (H, M, S, m, u, n); nothing if it is not that.
/// gRPC over HTTP/2, "Requests".
std::optional<std::chrono::nanoseconds> parse_timeout(std::string_view text) noexcept;

/// A text as `grpc-message` carries it: visible ASCII and blanks as they are, all else, and "%", as %XX. gRPC over
/// HTTP/2, "Responses". Throws std::bad_alloc.
std::string percent_encode(std::string_view text);

}  // namespace asio_infer::grpc
