#pragma once

#include <array>
#include <asio_infer/error.hpp>
#include <cstddef>
#include <string_view>

namespace asio_infer {

/// What one errc is called and looks like everywhere: the one table for all protocols and for Python.
struct status_row {
    errc code;
    std::string_view name;          ///< `AsioInferError.code`
    int http;                       ///< HTTP status
    int grpc;                       ///< gRPC status code
    std::string_view python_class;  ///< the exception's name in the package
    std::string_view failure;       ///< label `reason` of nv_inference_request_failure
    bool retry_after;               ///< answers carry Retry-After
};

inline constexpr std::array<status_row, errc_count> status_table{{
    {errc::invalid_request, "invalid_request", 400, 3, "InvalidRequest", "OTHER", false},
    {errc::unauthenticated, "unauthenticated", 401, 16, "Unauthenticated", "OTHER", false},
    {errc::permission_denied, "permission_denied", 403, 7, "PermissionDenied", "OTHER", false},
    {errc::not_found, "not_found", 404, 5, "NotFound", "OTHER", false},
    {errc::method_not_allowed, "method_not_allowed", 405, 12, "InvalidRequest", "OTHER", false},
    {errc::request_timeout, "request_timeout", 408, 4, "DeadlineExceeded", "OTHER", false},
    {errc::already_exists, "already_exists", 409, 6, "AlreadyExists", "OTHER", false},
    {errc::too_large, "too_large", 413, 8, "TooLarge", "OTHER", false},
    {errc::unsupported_media_type, "unsupported_media_type", 415, 3, "InvalidRequest", "OTHER", false},
    {errc::expectation_failed, "expectation_failed", 417, 3, "InvalidRequest", "OTHER", false},
    {errc::queue_full, "queue_full", 429, 8, "QueueFull", "REJECTED", true},
    {errc::header_too_large, "header_too_large", 431, 8, "TooLarge", "OTHER", false},
    {errc::model_error, "model_error", 500, 13, "ModelError", "BACKEND", false},
    {errc::internal, "internal", 500, 13, "InternalError", "OTHER", false},
    {errc::not_implemented, "not_implemented", 501, 12, "NotImplementedFeature", "OTHER", false},
    {errc::bad_upstream, "bad_upstream", 502, 14, "BadUpstream", "BACKEND", false},
    {errc::unavailable, "unavailable", 503, 14, "Unavailable", "REJECTED", true},
    {errc::deadline_exceeded, "deadline_exceeded", 504, 4, "DeadlineExceeded", "REJECTED", false},
    {errc::cancelled, "cancelled", 499, 1, "Cancelled", "CANCELED", false},
}};

static_assert([] {
    for (std::size_t i = 0; i < status_table.size(); ++i)
        if (static_cast<std::size_t>(status_table[i].code) != i) return false;
    return true;
}());

constexpr const status_row& status_of(errc code) noexcept { return status_table[static_cast<std::size_t>(code)]; }

}  // namespace asio_infer
