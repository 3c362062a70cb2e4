#pragma once

#include <asio_infer/infer.hpp>
#include <asio_infer/limits.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/message.hpp"
#include "fuzz/support/demand.hpp"

namespace asio_infer::fuzz {

struct decoded {
    std::optional<infer_request> request;  ///< nothing if the request was refused
    std::size_t bytes_in_body = 0;         ///< of its tensors
};

/// Decodes a request with the default limits and demands what holds for any: a refusal that can be shown, memory in
/// proportion to the body, counts within the limits, data as long as shape and type say, binary tensors one behind the
/// other inside the body, from `section_start` to its end.
decoded decode_by_the_rules(const request_message& message, std::size_t section_start);

/// How deep the brackets of a JSON text are nested.
std::size_t json_depth(std::string_view json) noexcept;

}  // namespace asio_infer::fuzz
