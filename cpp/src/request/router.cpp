#include "request/router.hpp"

#include <exception>

#include "core/escape.hpp"
#include "request/answer.hpp"
#include "request/path.hpp"
#include "request/request_id.hpp"
#include "request/route_arguments.hpp"
#include "request/route_table.hpp"

namespace asio_infer {

namespace {

constexpr std::string_view allow_of_server = "GET, HEAD, POST, OPTIONS";

const route* find_route(const request_path& path) noexcept {
    for (const route& row : route_table) {
        if (matches(row, path)) return &row;
    }
    return nullptr;
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

error wrong_method(const request_message& request, std::string_view allow) {
    return {errc::method_not_allowed, printable(request.method_name, 32) + " is not allowed on '" +
                                          printable(request.target) + "'; use " + std::string(allow)};
}

}  // namespace

rpc_kind router::kind_of_rpc(std::string_view) const noexcept { return rpc_kind::unknown; }

result<void> router::admit(const request_message&) const noexcept { return {}; }

void router::handle(exchange& x) noexcept {
    context_.stats.requests.fetch_add(1, std::memory_order_relaxed);
    try {
        if (dispatch(x) == progress::pending) return;
        dress_answer(context_, x.request, x.response);
    } catch (const std::exception&) {
        set_out_of_memory(x.response);
    }
    send_answer(context_, x, {});
}

progress router::dispatch(exchange& x) const {
    const bool wants_methods = x.request.method == verb::options;
    if (wants_methods && x.request.target == "*") return describe_methods(allow_of_server, x.response);
    request_path path;
    if (const result<void> parsed = path.parse(x.request.target); parsed.has_error()) {
        return fail(parsed.error(), x);
    }
    const route* const found = find_route(path);
    if (found == nullptr) return fail(no_such_route(x.request.target), x);
    const std::string_view allow = allow_text(found->methods);
    if (wants_methods) return describe_methods(allow, x.response);
    if (allows(found->methods, x.request.method)) return run_route(*found, path, x);
    fail(wrong_method(x.request, allow), x);
    x.response.allow = allow;
    return progress::answered;
}

progress router::run_route(const route& found, const request_path& path, exchange& x) const {
    const result<route_arguments> arguments = arguments_of(found, path);
    if (arguments.has_error()) return fail(arguments.error(), x);
    const result<progress> outcome = found.handler({context_, context_.json, x, arguments->model, arguments->version});
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
