#pragma once

#include <array>

#include "request/handlers.hpp"
#include "request/route.hpp"

namespace asio_infer {

/// Every endpoint. The first row that has the form of a path takes it: the busiest come first, and literal segments
/// before placeholders. So a model called "stats" shows its metadata only at /v2/models/stats/versions/V.
inline constexpr std::array route_table{
    make_route("/v2/models/{model}/infer", route_methods::submit, scope::infer, &handlers::infer),
    make_route("/v2/models/{model}/versions/{version}/infer", route_methods::submit, scope::infer, &handlers::infer),
    make_route("/v2/health/live", route_methods::read, scope::read, &handlers::live),
    make_route("/v2/health/ready", route_methods::read, scope::read, &handlers::ready),
    make_route("/v2/models/{model}/ready", route_methods::read, scope::read, &handlers::model_ready),
    make_route("/v2/models/{model}/versions/{version}/ready", route_methods::read, scope::read, &handlers::model_ready),
    make_route("/v2/models/stats", route_methods::read, scope::read, &handlers::all_statistics),
    make_route("/v2/models/{model}", route_methods::read, scope::read, &handlers::model_metadata),
    make_route("/v2/models/{model}/versions/{version}", route_methods::read, scope::read, &handlers::model_metadata),
    make_route("/v2/models/{model}/config", route_methods::read, scope::read, &handlers::model_config),
    make_route("/v2/models/{model}/versions/{version}/config", route_methods::read, scope::read,
               &handlers::model_config),
    make_route("/v2/models/{model}/stats", route_methods::read, scope::read, &handlers::model_statistics),
    make_route("/v2/models/{model}/versions/{version}/stats", route_methods::read, scope::read,
               &handlers::model_statistics),
    make_route("/v2/systemsharedmemory/status", route_methods::read, scope::control, &handlers::shared_memory_status),
    make_route("/v2/systemsharedmemory/region/{region}/status", route_methods::read, scope::control,
               &handlers::shared_memory_status),
    make_route("/v2/systemsharedmemory/region/{region}/register", route_methods::submit, scope::control,
               &handlers::register_shared_memory),
    make_route("/v2/systemsharedmemory/region/{region}/unregister", route_methods::submit, scope::control,
               &handlers::unregister_shared_memory),
    make_route("/v2/systemsharedmemory/unregister", route_methods::submit, scope::control,
               &handlers::unregister_shared_memory),
    make_route("/v2", route_methods::read, scope::read, &handlers::server_metadata),
    make_route("/metrics", route_methods::read, scope::read, &handlers::metrics),
    make_route("/", route_methods::read, scope::read, &handlers::welcome),
};

}  // namespace asio_infer
