#pragma once

#include <string>
#include <string_view>

namespace asio_infer {

/// Whether a client's X-Request-Id may be repeated in headers and logs: 1 to 128 visible ASCII characters.
bool is_usable_request_id(std::string_view id) noexcept;

/// Sets `out` to the client's id if it is usable, otherwise to a new one: 128 random bits as 32 hex digits, unique
/// but not secret. Makes no system call after a thread's first id. Throws std::bad_alloc.
void choose_request_id(std::string_view from_client, std::string& out);

}  // namespace asio_infer
