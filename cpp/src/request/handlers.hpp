#pragma once

#include "request/route.hpp"

/// The handlers of the route table, in one file for each family of endpoints.
namespace asio_infer::handlers {

// welcome.cpp
result<progress> welcome(const route_call& call);
// health.cpp
result<progress> live(const route_call& call);
result<progress> ready(const route_call& call);
result<progress> model_ready(const route_call& call);
// metadata.cpp
result<progress> server_metadata(const route_call& call);
result<progress> model_metadata(const route_call& call);
result<progress> model_config(const route_call& call);
// statistics.cpp
result<progress> all_statistics(const route_call& call);
result<progress> model_statistics(const route_call& call);
// metrics.cpp
result<progress> metrics(const route_call& call);
/// Of all models where the message names none.
result<progress> statistics_by_message(const route_call& call);
// infer.cpp
result<progress> infer(const route_call& call);
/// The model's name is inside the message.
result<progress> infer_message(const route_call& call);
// shared_memory.cpp
result<progress> shared_memory_status(const route_call& call);
result<progress> register_shared_memory(const route_call& call);
result<progress> unregister_shared_memory(const route_call& call);
// grpc_health.cpp
result<progress> health_check(const route_call& call);
result<progress> health_watch(const route_call& call);
// grpc_reflection.cpp
result<progress> reflect(const route_call& call);

}  // namespace asio_infer::handlers
