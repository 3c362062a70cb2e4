#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace asio_infer {

/// Throws invalid_request for a path that is too long for a socket's name, and for one where something else is.
void check_unix_path(const std::string& path);
bool is_unix_socket(const std::string& path) noexcept;
/// Only this user may connect.
void restrict_to_user(const std::string& path) noexcept;
void remove_unix_socket(const std::string& path) noexcept;
/// Tells a file from others that were, or will be, at its path; nothing if there is none.
std::optional<std::uint64_t> file_identity(const std::string& path) noexcept;

}  // namespace asio_infer
