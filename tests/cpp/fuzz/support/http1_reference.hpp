#pragma once

#include <asio_infer/limits.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace asio_infer::fuzz {

/// How a byte stream is read by somebody who knows only the plainest HTTP/1 (RFC 9112), as a proxy in front of the
/// server may. Where the session reads another request than this, one can be smuggled past the other.
struct http1_reading {
    struct request {
        std::string method;
        std::string target;
        std::string body;
    };
    enum class ending : std::uint8_t {
        unknown,  ///< what follows is incomplete, or too strange to say
        closed,   ///< the last request said that it is the last: nothing may be taken after it
        refused,  ///< what follows must not be taken for a request
    };
    std::vector<request> requests;
    ending end = ending::unknown;
};

http1_reading read_plainly(std::string_view stream, const limits& bounds);

}  // namespace asio_infer::fuzz
