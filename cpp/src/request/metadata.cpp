#include "request/handlers.hpp"

namespace asio_infer::handlers {

result<progress> server_metadata(const route_call& call) {
    call.encoder.server_metadata(call.x.response);
    return progress::answered;
}

result<progress> model_metadata(const route_call& call) {
    const result<model_ptr> model = call.context.models.find(call.model, call.version);
    if (model.has_error()) return model.error();
    call.encoder.model_metadata(**model, call.context.models.versions(call.model), call.x.response);
    return progress::answered;
}

result<progress> model_config(const route_call& call) {
    const result<model_ptr> model = call.context.models.find(call.model, call.version);
    if (model.has_error()) return model.error();
    call.encoder.model_config(**model, call.x.response);
    return progress::answered;
}

}  // namespace asio_infer::handlers
