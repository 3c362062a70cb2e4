#include "request/handlers.hpp"

namespace asio_infer::handlers {

result<progress> live(const route_call& call) {
    call.encoder.live(call.x.response);
    return progress::answered;
}

result<progress> ready(const route_call& call) {
    call.encoder.ready(call.context.models.ready(), call.x.response);
    return progress::answered;
}

result<progress> model_ready(const route_call& call) {
    const result<model_ptr> model = call.context.models.find(call.model, call.version);
    if (model.has_error()) return model.error();
    const bool ready = (*model)->ready() && !call.context.models.stopping();
    call.encoder.model_ready((*model)->spec().name, ready, call.x.response);
    return progress::answered;
}

}  // namespace asio_infer::handlers
