#pragma once

#include <nghttp2/nghttp2.h>

namespace asio_infer::http2 {

class http2_session;

/// nghttp2's state of a server's connection, whose events go to `owner`. Throws std::bad_alloc.
nghttp2_session* make_nghttp2_session(http2_session& owner);

/// Where nghttp2 finds the bytes of an answer: in the stream that is its stream's user data.
nghttp2_data_provider output_of_streams() noexcept;

}  // namespace asio_infer::http2
