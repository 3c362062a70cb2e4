#pragma once

#include <string_view>

#include "core/message.hpp"

namespace asio_infer {

/// Codes the body with what the client prefers, gzip or deflate, and says so in content_encoding; true if it did.
/// Left as they are: bodies of 1 KiB or less, answers that are not JSON, binary answers unless `binary_too`, and what
/// would not get smaller. json_length keeps telling the length before coding. Any thread. Throws std::bad_alloc.
bool compress_body(response_message& response, std::string_view accept_encoding, bool binary_too);

}  // namespace asio_infer
