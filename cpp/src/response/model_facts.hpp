#pragma once

#include <array>
#include <asio_infer/model_spec.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio_infer {

// What every payload format says about the server and its models.

/// What always works of the protocol's extensions, by Triton's names; shared_memory_extension where it is offered.
inline constexpr std::array<std::string_view, 5> protocol_extensions{"binary_tensor_data", "classification",
                                                                     "model_configuration", "parameters", "statistics"};

inline constexpr std::string_view shared_memory_extension = "system_shared_memory";

/// A tensor's dims in the metadata: an unknown rank is shown as one unknown dim.
shape listed_shape(const tensor_spec& spec);
/// A tensor's dims in the configuration: with a batch axis, without it.
shape config_dims(const tensor_spec& spec, bool batched);
bool on_gpu(const model_spec& spec) noexcept;
/// The configuration's parameters, by name and value.
std::vector<std::pair<std::string, std::string>> config_parameters(const model_spec& spec);

}  // namespace asio_infer
