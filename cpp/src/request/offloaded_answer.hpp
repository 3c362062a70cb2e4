#pragma once

#include <cstddef>
#include <vector>

#include "core/exchange.hpp"
#include "request/route.hpp"

namespace asio_infer {

/// Fills the answer to a request that has no arguments, as far as `who` may see it. Any thread. Throws std::bad_alloc.
using answer_filler = void (*)(const router_context& context, const response_encoder& encoder, caller who,
                               response_message& out);

/// The models that a caller may see.
std::vector<model_ptr> visible_models(const router_context& context, caller who);

/// Fills the answer here if it is expected to be short, otherwise on the workers, so that a long list of models does
/// not hold up the other connections of this thread.
progress answer_by_size(const route_call& call, std::size_t expected_bytes, answer_filler fill);

}  // namespace asio_infer
