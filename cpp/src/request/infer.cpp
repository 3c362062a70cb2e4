#include <memory>
#include <string_view>
#include <utility>

#include "core/ascii_case.hpp"
#include "core/escape.hpp"
#include "core/inflate.hpp"
#include "request/handlers.hpp"
#include "request/infer_operation.hpp"

namespace asio_infer::handlers {

namespace {

/// Clients label bodies in many ways (curl -d says it is a form), so any type is read as the protocol's body; only
/// multipart/*, which wraps its content, cannot be meant.
result<void> check_body_type(const header_values& headers) {
    if (starts_with_ignoring_case(headers[header::content_type], "multipart/")) {
        return error{errc::unsupported_media_type, "Content-Type '" + printable(headers[header::content_type], 100) +
                                                       "' is not supported; send application/json"};
    }
    const std::string_view coding = headers[header::content_encoding];
    if (parse_body_coding(coding)) return {};
    return error{errc::unsupported_media_type, "Content-Encoding '" + printable(coding, 100) +
                                                   "' is not supported; send gzip, deflate or the body as it is"};
}

progress begin(const route_call& call, model_ptr model) {
    auto made = std::make_unique<infer_operation>(call.context, call.x, std::move(model), call.who);
    infer_operation& inference = *made;
    call.x.pending = std::move(made);
    inference.start();
    return progress::pending;
}

}  // namespace

result<progress> infer(const route_call& call) {
    if (const result<void> checked = check_body_type(call.x.request.headers); checked.has_error()) {
        return checked.error();
    }
    if (call.context.models.stopping()) return error{errc::unavailable, "the server is stopping"};
    result<model_ptr> model = call.context.models.find(call.model, call.version);
    if (model.has_error()) return model.error();
    return begin(call, std::move(*model));
}

result<progress> infer_message(const route_call& call) {
    if (call.context.models.stopping()) return error{errc::unavailable, "the server is stopping"};
    return begin(call, nullptr);
}

}  // namespace asio_infer::handlers
