#include "request/answer.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>

#include "request/request_id.hpp"

namespace asio_infer {

namespace {

void log_answer(const router_context& context, const exchange& x, std::string_view model) noexcept {
    const std::chrono::duration<double, std::milli> took = context.now() - x.arrived;
    context.log.write(log_level::info, "request",
                      {{"method", std::string_view(x.request.method_name)},
                       {"target", std::string_view(x.request.target)},
                       {"status", std::int64_t{x.response.status}},
                       {"bytes", std::uint64_t{x.response.body_size()}},
                       {"ms", took.count()},
                       {"request_id", std::string_view(x.response.request_id)},
                       {"model", model},
                       {"key", x.caller}});
}

}  // namespace

void dress_answer(const router_context& context, const request_message& request, response_message& response) {
    choose_request_id(request.headers[header::request_id], response.request_id);
    // A stream says in its header whether its messages are compressed, before it knows any.
    if (context.compress == nullptr || request.streamed) return;
    const header accepts = request.form == payload::protobuf ? header::grpc_accept_encoding : header::accept_encoding;
    context.compress(response, request.headers[accepts], context.compress_binary);
}

void set_out_of_memory(response_message& response) noexcept {
    response.clear();
    response.status = status_of(errc::unavailable).http;
    response.content_type = "text/plain";
    response.grpc_status = status_of(errc::unavailable).grpc;
    response.retry_after_s = 1;
}

void send_answer(const router_context& context, exchange& x, std::string_view model) noexcept {
    count_answer(context.stats, x.response.status);
    if (context.access_log && context.log.enabled(log_level::info)) log_answer(context, x, model);
    x.complete();
}

void count_refused(server_stats& stats, errc code) noexcept {
    stats.refused[static_cast<std::size_t>(code)].fetch_add(1, std::memory_order_relaxed);
}

void count_answer(server_stats& stats, int status) noexcept {
    const auto status_class = static_cast<std::size_t>(status / 100);
    if (status_class < stats.responses.size()) {
        stats.responses[status_class].fetch_add(1, std::memory_order_relaxed);
    }
}

}  // namespace asio_infer
