#include <asio_infer/error.hpp>
#include <filesystem>
#include <system_error>

#include "net/unix_path.hpp"

namespace asio_infer {

// Windows has Unix-domain sockets, but says little about their files: access is the folder's.

void check_unix_path(const std::string& path) {
    constexpr std::size_t longest = 107;
    if (path.size() > longest)
        throw exception(errc::invalid_request, "the Unix socket's path has " + std::to_string(path.size()) +
                                                   " bytes; the system takes " + std::to_string(longest));
}

bool is_unix_socket(const std::string& path) noexcept {
    std::error_code ec;
    return std::filesystem::exists(std::filesystem::u8path(path), ec);
}

void restrict_to_user(const std::string&) noexcept {}

void remove_unix_socket(const std::string& path) noexcept {
    std::error_code ec;
    std::filesystem::remove(std::filesystem::u8path(path), ec);
}

std::optional<std::uint64_t> file_identity(const std::string& path) noexcept {
    if (!is_unix_socket(path)) return std::nullopt;
    return 1;
}

}  // namespace asio_infer
