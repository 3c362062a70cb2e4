#pragma once

#include <asio_infer/log.hpp>
#include <asio_infer/options.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/onnx/ort_api.hpp"

namespace asio_infer::ort {

inline constexpr std::string_view cpu_provider = "CPUExecutionProvider";

/// Execution providers, best first, each with its options: model_options::providers.
using provider_list = std::vector<std::pair<std::string, string_map>>;

/// The execution providers that this build of the runtime contains.
std::vector<std::string> available_providers(const ort_api& api);

/// Adds the providers to the session's options in this order and returns the names of those in use, the CPU's last.
/// One that cannot be used is a warning if the list ends in the CPU's; otherwise invalid_request is thrown, which
/// names it, the reason and what is available. The CPU's is always there and needs no adding.
std::vector<std::string> add_providers(const ort_api& api, OrtSessionOptions* session_options,
                                       const provider_list& providers, log_sink& log);

}  // namespace asio_infer::ort
