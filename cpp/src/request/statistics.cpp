#include "request/handlers.hpp"
#include "request/offloaded_answer.hpp"

namespace asio_infer::handlers {

namespace {

/// About what one version of a model takes in the statistics' JSON, with some batch sizes in use.
constexpr std::size_t bytes_per_model = 2'048;

}  // namespace

result<progress> all_statistics(const route_call& call) {
    const std::size_t expected = call.context.models.all().size() * bytes_per_model;
    return answer_by_size(call, expected,
                          [](const router_context& context, const response_encoder& encoder, caller who,
                             response_message& out) { encoder.statistics(visible_models(context, who), out); });
}

/// Of one version, or of all where the path names none.
result<progress> model_statistics(const route_call& call) {
    const result<model_ptr> model = call.context.models.find(call.model, call.version);
    if (model.has_error()) return model.error();
    if (call.version) {
        call.encoder.statistics({&*model, 1}, call.x.response);
    } else {
        call.encoder.statistics(call.context.models.versions(call.model), call.x.response);
    }
    return progress::answered;
}

result<progress> statistics_by_message(const route_call& call) {
    return call.model.empty() ? all_statistics(call) : model_statistics(call);
}

}  // namespace asio_infer::handlers
