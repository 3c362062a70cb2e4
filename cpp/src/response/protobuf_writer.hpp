#pragma once

#include <protozero/pbf_writer.hpp>
#include <string_view>

#include "core/message.hpp"

namespace asio_infer {

inline constexpr std::string_view grpc_content_type = "application/grpc";

/// Adds a text, which proto3 leaves out when it is empty.
inline void add_text(protozero::pbf_writer& to, protozero::pbf_tag_type field, std::string_view text) {
    if (!text.empty()) to.add_bytes(field, text.data(), text.size());
}

}  // namespace asio_infer
