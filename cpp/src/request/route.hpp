#pragma once

#include <array>
#include <asio_infer/error.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/exchange.hpp"
#include "request/path.hpp"
#include "request/router_context.hpp"

namespace asio_infer {

/// A request that has found its route.
struct route_call {
    const router_context& context;
    const response_encoder& encoder;  ///< of the form that the request came in
    exchange& x;
    std::string_view model;  ///< decoded, a possible name of a model; "" on routes without one. Dies with the call.
    std::optional<std::int64_t> version;
    std::string_view region;  ///< of shared memory, on the routes that have one
    caller who = nullptr;     ///< may do what the route needs, with this model
};

enum class progress {
    answered,  ///< the response is filled; the router sends it
    pending,   ///< the handler completes the exchange itself; it may have done so, and the exchange may be gone
};

/// Answers a request. An error is answered, and counted as refused, by the router. Throws std::bad_alloc, but only
/// while it still could return `answered`.
using route_handler = result<progress> (*)(const route_call& call);

/// The methods that a route takes.
enum class route_methods : std::uint8_t {
    read,    ///< GET, and HEAD as GET without its body
    submit,  ///< POST
};

constexpr std::string_view allow_text(route_methods methods) noexcept {
    return methods == route_methods::read ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
}

constexpr bool allows(route_methods methods, verb method) noexcept {
    if (methods == route_methods::read) return method == verb::get || method == verb::head;
    return method == verb::post;
}

inline constexpr std::string_view model_placeholder = "{model}";
inline constexpr std::string_view version_placeholder = "{version}";
inline constexpr std::string_view region_placeholder = "{region}";

struct route {
    std::array<std::string_view, request_path::max_segments> segments{};
    std::size_t size = 0;
    route_methods methods = route_methods::read;
    scope needs = scope::read;
    route_handler handler = nullptr;
};

/// A row of the table from a pattern such as "/v2/models/{model}/ready".
consteval route make_route(std::string_view pattern, route_methods methods, scope needs, route_handler handler) {
    route row{.methods = methods, .needs = needs, .handler = handler};
    for (std::size_t begin = 1; begin < pattern.size();) {
        const std::size_t slash = pattern.find('/', begin);
        const std::size_t end = slash == std::string_view::npos ? pattern.size() : slash;
        row.segments[row.size++] = pattern.substr(begin, end - begin);
        begin = end + 1;
    }
    return row;
}

/// Whether the path has the form of the route. A placeholder takes any segment that is not empty.
inline bool matches(const route& row, const request_path& path) noexcept {
    if (row.size != path.size()) return false;
    for (std::size_t i = 0; i < row.size; ++i) {
        const bool placeholder = row.segments[i].front() == '{';
        if (placeholder ? path[i].empty() : row.segments[i] != path[i]) return false;
    }
    return true;
}

}  // namespace asio_infer
