#include "request/handlers.hpp"
#include "request/offloaded_answer.hpp"

namespace asio_infer::handlers {

namespace {

/// About what the series of one version of a model take in the text.
constexpr std::size_t bytes_per_model = 8'192;

}  // namespace

result<progress> metrics(const route_call& call) {
    if (call.who != nullptr && !call.who->all_models())
        return error{errc::permission_denied, "the metrics are about all models, and this key may not use all"};
    const std::size_t expected = call.context.models.all().size() * bytes_per_model;
    return answer_by_size(
        call, expected, [](const router_context& context, const response_encoder&, caller, response_message& response) {
            response.text = context.metrics_text();
            response.content_type = "text/plain; version=0.0.4; charset=utf-8";
        });
}

}  // namespace asio_infer::handlers
