#include "request/handlers.hpp"

namespace asio_infer::handlers {

result<progress> welcome(const route_call& call) {
    call.encoder.welcome(call.context.models.all(), call.x.response);
    return progress::answered;
}

}  // namespace asio_infer::handlers
