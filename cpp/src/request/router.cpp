#include "request/router.hpp"

#include <exception>

#include "core/escape.hpp"
#include "core/inflate.hpp"
#include "request/answer.hpp"
#include "request/decode_protobuf.hpp"
#include "request/infer_cost.hpp"
#include "request/path.hpp"
#include "request/protobuf_reader.hpp"
#include "request/request_id.hpp"
#include "request/route_arguments.hpp"
#include "request/route_table.hpp"
#include "request/rpc_table.hpp"

namespace asio_infer {

namespace {

constexpr std::string_view allow_of_server = "GET, HEAD, POST, OPTIONS";

const route* find_route(const request_path& path) noexcept {
    for (const route& row : route_table) {
        if (matches(row, path)) return &row;
    }
    return nullptr;
}

/// Somebody without a key, where that is allowed.
const api_key stranger{"", {}, static_cast<std::uint8_t>(scope::read), {}};

bool asks_for_liveness(const request_message& request) {
    if (request.form == payload::protobuf) {
        const rpc* const found = find_rpc(request.target);
        return found != nullptr && found->handler == &handlers::live;
    }
    request_path path;
    if (path.parse(request.target).has_error()) return false;
    const route* const found = find_route(path);
    return found != nullptr && found->handler == &handlers::live && allows(found->methods, request.method);
}

progress describe_methods(std::string_view allow, response_message& response) noexcept {
    response.status = 204;
    response.content_type = {};
    response.allow = allow;
    return progress::answered;
}

error no_such_route(std::string_view target) {
    return {errc::not_found, "there is nothing at '" + printable(target) + "'"};
}

error no_such_method(std::string_view path) {
    return {errc::not_implemented, "there is no method '" + printable(path) + "'"};
}

error not_grpc() {
    return {errc::unsupported_media_type,
            "this is a gRPC method: it is called over HTTP/2 with Content-Type application/grpc"};
}

/// Fields 1 and 2 of a message: a model's name and version. Both may be missing where a method is about all models.
result<route_arguments> read_model_name(const buffer& message) {
    std::string_view name;
    std::string_view version;
    const result<void> read = read_message("request of this method", [&]() -> result<void> {
        pbf_reader reader(reinterpret_cast<const char*>(message.data()), message.size());
        while (reader.next()) {
            if (reader.tag_and_type() == text_field(1))
                name = text_of(reader.get_view());
            else if (reader.tag_and_type() == text_field(2))
                version = text_of(reader.get_view());
            else
                reader.skip();
        }
        return {};
    });
    if (read.has_error()) return read.error();
    return arguments_of(name, version);
}

/// A compressed message of a method whose messages are small.
result<void> expand_small(const router_context& context, request_message& request) {
    constexpr std::size_t limit = 64 * 1024;
    byte_lease lease(context.budget);
    const auto coding = parse_body_coding(request.headers[header::grpc_encoding]).value_or(body_coding::gzip);
    const result<buffer> whole = expand_body(request.body.bytes(), coding, limit, 0, lease);
    if (whole.has_error()) return whole.error();
    request.body = *whole;
    return {};
}

error wrong_method(const request_message& request, std::string_view allow) {
    return {errc::method_not_allowed, printable(request.method_name, 32) + " is not allowed on '" +
                                          printable(request.target) + "'; use " + std::string(allow)};
}

}  // namespace

rpc_kind router::kind_of_rpc(std::string_view path) const noexcept {
    const rpc* const found = find_rpc(path);
    return found == nullptr ? rpc_kind::unknown : found->kind;
}

result<void> router::admit(const request_message& header) const noexcept {
    const result<caller> known = authenticate(header);
    if (known.has_error()) return known.error();
    return {};
}

/// Every request passes here before anything else is looked at: what exists is told to those with a key only.
result<caller> router::authenticate(const request_message& request) const {
    if (context_.keys == nullptr) return caller{nullptr};
    result<caller> known = context_.keys->authenticate(request.headers);
    if (known.has_error() && context_.keys->public_liveness() && asks_for_liveness(request)) return &stranger;
    return known;
}

std::size_t router::tensor_start(const request_message& header, std::string_view first_bytes) const noexcept {
    if (header.form == payload::protobuf) return first_raw_tensor(first_bytes);
    const std::size_t at = announced_json_bytes(header).value_or(0);
    return at <= context_.limits.max_body_bytes ? at : 0;
}

void router::handle(exchange& x) noexcept {
    context_.stats.requests.fetch_add(1, std::memory_order_relaxed);
    try {
        if (authenticate_and_dispatch(x) == progress::pending) return;
        dress_answer(context_, x.request, x.response);
    } catch (const std::exception&) {
        set_out_of_memory(x.response);
    }
    send_answer(context_, x, {});
}

progress router::authenticate_and_dispatch(exchange& x) const {
    const result<caller> who = authenticate(x.request);
    x.caller = {};
    if (who.has_error()) return fail(who.error(), x);
    if (*who != nullptr) x.caller = (*who)->name;
    return x.request.form == payload::protobuf ? dispatch_rpc(x, *who) : dispatch(x, *who);
}

progress router::dispatch(exchange& x, caller who) const {
    const bool wants_methods = x.request.method == verb::options;
    if (wants_methods && x.request.target == "*") return describe_methods(allow_of_server, x.response);
    request_path path;
    if (const result<void> parsed = path.parse(x.request.target); parsed.has_error()) {
        return fail(parsed.error(), x);
    }
    const route* const found = find_route(path);
    if (found == nullptr) {
        const bool method = find_rpc(x.request.target) != nullptr;
        return fail(method ? not_grpc() : no_such_route(x.request.target), x);
    }
    const std::string_view allow = allow_text(found->methods);
    if (wants_methods) return describe_methods(allow, x.response);
    if (allows(found->methods, x.request.method)) return run_route(*found, path, x, who);
    fail(wrong_method(x.request, allow), x);
    x.response.allow = allow;
    return progress::answered;
}

progress router::dispatch_rpc(exchange& x, caller who) const {
    const rpc* const found = find_rpc(x.request.target);
    if (found == nullptr) return fail(no_such_method(x.request.target), x);
    const bool small = found->handler != &handlers::infer_message;
    if (small && x.request.compressed)
        if (const result<void> whole = expand_small(context_, x.request); whole.has_error())
            return fail(whole.error(), x);
    route_arguments arguments;
    if (found->names_model) {
        const result<route_arguments> named = read_model_name(x.request.body);
        if (named.has_error()) return fail(named.error(), x);
        arguments = *named;
    }
    if (const result<void> allowed = check_access(who, found->needs, arguments.model); allowed.has_error())
        return fail(allowed.error(), x);
    const result<progress> outcome =
        found->handler({context_, context_.protobuf, x, arguments.model, arguments.version, {}, who});
    if (!outcome.has_error()) return *outcome;
    fail(outcome.error(), x);
    if (x.request.streamed && !small) context_.protobuf.stream_item({}, x.response);
    return progress::answered;
}

progress router::run_route(const route& found, const request_path& path, exchange& x, caller who) const {
    const result<route_arguments> arguments = arguments_of(found, path);
    if (arguments.has_error()) return fail(arguments.error(), x);
    if (const result<void> allowed = check_access(who, found.needs, arguments->model); allowed.has_error())
        return fail(allowed.error(), x);
    const result<progress> outcome =
        found.handler({context_, context_.json, x, arguments->model, arguments->version, arguments->region, who});
    return outcome.has_error() ? fail(outcome.error(), x) : *outcome;
}

progress router::fail(const error& e, exchange& x) const {
    count_refused(context_.stats, e.code);
    context_.encoder_of(x.request).failure(e, x.response);
    return progress::answered;
}

void router::refuse(const error& e, exchange& x) noexcept {
    response_message& response = x.response;
    context_.stats.requests.fetch_add(1, std::memory_order_relaxed);
    count_refused(context_.stats, e.code);
    try {
        context_.encoder_of(x.request).failure(e, response);
        choose_request_id(x.request.headers[header::request_id], response.request_id);
    } catch (const std::exception&) {
        set_out_of_memory(response);
    }
    count_answer(context_.stats, response.status);
    if (!context_.access_log || !context_.log.enabled(log_level::info)) return;
    context_.log.write(log_level::info, "request refused",
                       {{"error", std::string_view(e.message)},
                        {"status", std::int64_t{response.status}},
                        {"request_id", std::string_view(response.request_id)}});
}

}  // namespace asio_infer
