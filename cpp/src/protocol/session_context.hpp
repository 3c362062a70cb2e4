#pragma once

#include <asio_infer/limits.hpp>

#include "core/byte_budget.hpp"
#include "core/exchange.hpp"
#include "core/model_stats.hpp"

namespace asio_infer {

/// What all sessions of a server share; outlives them.
struct session_context {
    request_handler& handler;
    const limits& bounds;
    byte_budget& budget;
    server_stats& stats;
};

}  // namespace asio_infer
