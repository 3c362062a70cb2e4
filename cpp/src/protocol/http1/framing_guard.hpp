#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/limits.hpp>
#include <cstddef>
#include <cstdint>

#include "protocol/http1/request_head.hpp"

namespace asio_infer::http1 {

/// How a request's body is delimited.
struct framing {
    enum class kind : std::uint8_t { none, length, chunked };
    kind body = kind::none;
    std::size_t length = 0;         ///< for kind::length
    bool expects_continue = false;  ///< the client waits for "100 Continue" before it sends the body
};

/// The second look at a header that the parser has accepted. Beast lets framings through that other servers read
/// differently, which is how requests are smuggled: this refuses all but one plain Content-Length or exactly one
/// "chunked" (RFC 9112, 6), a repeated or missing Host (3.2), folded lines (5.2) and unknown expectations (RFC 9110,
/// 10.1.1). A refused connection must be closed: where its next request begins is not known. Pure.
result<framing> check_framing(const request_head& head, const limits& limits);

}  // namespace asio_infer::http1
