#pragma once

#include "core/exchange.hpp"
#include "request/route.hpp"
#include "request/router_context.hpp"

namespace asio_infer {

/// Finds each request's endpoint and sees to its answer. Thread-safe: it has no state of its own but the counters of
/// its context.
///
/// An answer has an X-Request-Id always. A trailing slash is tolerated, "//" is not; the query is ignored; OPTIONS
/// answers 204 with Allow on every route, and "OPTIONS *" with what the server as a whole takes.
class router final : public request_handler {
public:
    explicit router(router_context context) : context_(std::move(context)) {}

    /// Precondition: x.response is cleared.
    rpc_kind kind_of_rpc(std::string_view path) const noexcept override;
    result<void> admit(const request_message& header) const noexcept override;
    std::size_t tensor_start(const request_message& header, std::string_view first_bytes) const noexcept override;
    void handle(exchange& x) noexcept override;
    void refuse(const error& e, exchange& x) noexcept override;

private:
    result<caller> authenticate(const request_message& request) const;
    progress authenticate_and_dispatch(exchange& x) const;
    /// The route's handler, or the answer that there is none.
    progress dispatch(exchange& x, caller who) const;
    /// The gRPC method's handler, or the answer that there is none.
    progress dispatch_rpc(exchange& x, caller who) const;
    progress run_route(const route& found, const request_path& path, exchange& x, caller who) const;
    progress fail(const error& e, exchange& x) const;

    const router_context context_;
};

}  // namespace asio_infer
