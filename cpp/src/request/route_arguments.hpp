#pragma once

#include <asio_infer/error.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "request/path.hpp"
#include "request/route.hpp"

namespace asio_infer {

/// What a path's segments say at the placeholders of its route.
struct route_arguments {
    std::string_view model;
    std::string_view region;
    std::optional<std::int64_t> version;
};

/// Whether a model may have this name: 1 to 256 bytes of UTF-8 without "/", "\" and control characters, and not "."
/// or "..".
bool is_model_name(std::string_view name) noexcept;

/// A version as it is written in paths: 1 to 2^63-1 in decimal, without a sign and without leading zeros.
std::optional<std::int64_t> parse_version(std::string_view text) noexcept;

/// As a message names a model and a version; "" is the highest version. not_found, naming what cannot be one;
/// invalid_request if the model's name is missing.
result<route_arguments> arguments_of(std::string_view model, std::string_view version);

/// not_found, naming the segment, if it cannot be a model's name or a version.
result<route_arguments> arguments_of(const route& found, const request_path& path);

}  // namespace asio_infer
