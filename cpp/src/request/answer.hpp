#pragma once

#include <asio_infer/error.hpp>
#include <string_view>

#include "core/exchange.hpp"
#include "core/message.hpp"
#include "request/router_context.hpp"

namespace asio_infer {

/// What every answer passes on its way from a handler to complete().

/// Adds the request id and compresses. Heavy for a large body; any thread that owns the exchange. Throws
/// std::bad_alloc.
void dress_answer(const router_context& context, const request_message& request, response_message& response);

/// The answer when there is no memory for one: 503 without a body.
void set_out_of_memory(response_message& response) noexcept;

/// Counts the answer, logs it if that is asked for, and completes the exchange, which may be gone afterwards. On the
/// exchange's home. `model`: the name for the log, "" if the request is about none.
void send_answer(const router_context& context, exchange& x, std::string_view model) noexcept;

/// Counts a request that failed before a model was found.
void count_refused(server_stats& stats, errc code) noexcept;

/// Counts an answer under the class of its status.
void count_answer(server_stats& stats, int status) noexcept;

}  // namespace asio_infer
