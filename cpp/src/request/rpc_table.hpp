#pragma once

#include <array>
#include <string_view>

#include "request/handlers.hpp"
#include "request/route.hpp"

namespace asio_infer {

/// A gRPC method.
struct rpc {
    std::string_view path;
    rpc_kind kind;
    /// The message has the model's name in field 1 and the version in field 2: read for the handler.
    bool names_model;
    scope needs;
    route_handler handler;
};

/// Every gRPC method that there is; the busiest come first.
inline constexpr std::array rpc_table{
    rpc{"/inference.GRPCInferenceService/ModelInfer", rpc_kind::unary, false, scope::infer, &handlers::infer_message},
    rpc{"/inference.GRPCInferenceService/ModelStreamInfer", rpc_kind::stream, false, scope::infer,
        &handlers::infer_message},
    rpc{"/inference.GRPCInferenceService/ServerLive", rpc_kind::unary, false, scope::read, &handlers::live},
    rpc{"/inference.GRPCInferenceService/ServerReady", rpc_kind::unary, false, scope::read, &handlers::ready},
    rpc{"/inference.GRPCInferenceService/ModelReady", rpc_kind::unary, true, scope::read, &handlers::model_ready},
    rpc{"/inference.GRPCInferenceService/ServerMetadata", rpc_kind::unary, false, scope::read,
        &handlers::server_metadata},
    rpc{"/inference.GRPCInferenceService/ModelMetadata", rpc_kind::unary, true, scope::read, &handlers::model_metadata},
    rpc{"/inference.GRPCInferenceService/ModelConfig", rpc_kind::unary, true, scope::read, &handlers::model_config},
    rpc{"/inference.GRPCInferenceService/ModelStatistics", rpc_kind::unary, true, scope::read,
        &handlers::statistics_by_message},
    rpc{"/inference.GRPCInferenceService/SystemSharedMemoryStatus", rpc_kind::unary, false, scope::control,
        &handlers::shared_memory_status},
    rpc{"/inference.GRPCInferenceService/SystemSharedMemoryRegister", rpc_kind::unary, false, scope::control,
        &handlers::register_shared_memory},
    rpc{"/inference.GRPCInferenceService/SystemSharedMemoryUnregister", rpc_kind::unary, false, scope::control,
        &handlers::unregister_shared_memory},
    rpc{"/grpc.health.v1.Health/Check", rpc_kind::unary, false, scope::read, &handlers::health_check},
    rpc{"/grpc.health.v1.Health/Watch", rpc_kind::watch, false, scope::read, &handlers::health_watch},
    rpc{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", rpc_kind::stream, false, scope::read,
        &handlers::reflect},
    rpc{"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", rpc_kind::stream, false, scope::read,
        &handlers::reflect},
};

/// The method with this path, or null.
constexpr const rpc* find_rpc(std::string_view path) noexcept {
    for (const rpc& row : rpc_table)
        if (row.path == path) return &row;
    return nullptr;
}

}  // namespace asio_infer
