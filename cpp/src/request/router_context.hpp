#pragma once

#include <asio_infer/infer.hpp>
#include <asio_infer/limits.hpp>
#include <asio_infer/log.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "core/byte_budget.hpp"
#include "core/executor.hpp"
#include "core/message.hpp"
#include "core/model_stats.hpp"
#include "core/response_encoder.hpp"
#include "core/served_model.hpp"
#include "request/middleware/key_ring.hpp"
#include "request/shared_memory/shared_memory_registry.hpp"

namespace asio_infer {

/// What the handlers of requests use. All of it outlives the router and every exchange.
struct router_context {
    const model_directory& models;
    const response_encoder& json;
    const response_encoder& protobuf;
    task_executor& workers;  ///< for JSON, compression and encoding above limits.offload_bytes
    const asio_infer::limits& limits;
    byte_budget& budget;                    ///< for what requests hold beyond their bodies
    const key_ring* keys;                   ///< null: nobody is asked for a key
    shared_memory_registry* shared_memory;  ///< null: not offered
    server_stats& stats;
    log_sink& log;
    bool access_log = false;       ///< one record at `info` for each answer
    bool compress_binary = false;  ///< passed on to `compress`
    std::function<std::string()> metrics_text;
    /// Compresses a filled response if the client accepts it and it is worth it; null: answers leave as they are.
    /// Thread-safe. May throw std::bad_alloc.
    void (*compress)(response_message& response, std::string_view accept_encoding, bool compress_binary) = nullptr;
    time_point (*now)() = &clock::now;

    const response_encoder& encoder_of(const request_message& request) const noexcept {
        return request.form == payload::protobuf ? protobuf : json;
    }
};

}  // namespace asio_infer
