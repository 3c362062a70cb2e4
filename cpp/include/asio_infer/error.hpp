#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio_infer {

/// Every way a request or a call can fail. What each means on HTTP, gRPC, in Python and in the metrics is one row of
/// `status_table` (core/status_table.hpp), in this order.
enum class errc : std::uint8_t {
    invalid_request,         ///< malformed, or it contradicts the model's metadata
    unauthenticated,         ///< credentials missing or unknown
    permission_denied,       ///< known caller, not allowed to do this
    not_found,               ///< no such route, model or version
    method_not_allowed,      ///< the route exists, not with this method
    request_timeout,         ///< the header or the body came too slowly
    already_exists,          ///< a model of that name and version is registered
    too_large,               ///< the body is over its limit
    unsupported_media_type,  ///< a content type or content coding that is not supported
    expectation_failed,      ///< an Expect header other than 100-continue
    queue_full,              ///< the model's queue is at its limit
    header_too_large,        ///< the header is over its limit
    model_error,             ///< the model could not be loaded, or its run failed
    internal,                ///< a fault of this program
    not_implemented,         ///< a transfer coding or feature that is not supported
    bad_upstream,            ///< another server answered wrongly
    unavailable,             ///< known but not ready, draining, or out of budget
    deadline_exceeded,       ///< the request's or the queue's time ran out
    cancelled,               ///< the caller went away
};
inline constexpr std::size_t errc_count = 19;

/// What was wrong, where, and what to do, in a sentence that may be shown to the caller.
struct error {
    errc code = errc::internal;
    std::string message;
    std::uint32_t retry_after_s = 0;  ///< when to try again, if that is known; 0: as the status table says
};

/// The exception form, for configuration mistakes and for the Python layer.
class exception : public std::runtime_error {
public:
    explicit exception(error e) : std::runtime_error(e.message), code_(e.code) {}
    exception(errc code, const std::string& message) : std::runtime_error(message), code_(code) {}
    errc code() const noexcept { return code_; }

private:
    errc code_;
};

[[noreturn]] inline void throw_exception_from_error(const error& e, const boost::source_location&) {
    throw exception(e);
}

/// A value or an `error`: how expected failures travel inside the server.
template <class T>
using result = boost::system::result<T, error>;

}  // namespace asio_infer
