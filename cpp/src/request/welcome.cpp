#include "request/handlers.hpp"
#include "request/offloaded_answer.hpp"

namespace asio_infer::handlers {

result<progress> welcome(const route_call& call) {
    call.encoder.welcome(visible_models(call.context, call.who), call.x.response);
    return progress::answered;
}

}  // namespace asio_infer::handlers
