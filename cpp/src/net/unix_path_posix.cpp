#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <asio_infer/error.hpp>

#include "net/unix_path.hpp"

namespace asio_infer {

void check_unix_path(const std::string& path) {
    constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
    if (path.size() > longest)
        throw exception(errc::invalid_request, "the Unix socket's path has " + std::to_string(path.size()) +
                                                   " bytes; the system takes " + std::to_string(longest));
    if (file_identity(path) && !is_unix_socket(path))
        throw exception(errc::invalid_request, "'" + path + "' exists and is no socket");
}

bool is_unix_socket(const std::string& path) noexcept {
    struct stat found{};
    return ::lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

void restrict_to_user(const std::string& path) noexcept {
    if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0) return;  // a file system without modes
}

void remove_unix_socket(const std::string& path) noexcept { ::unlink(path.c_str()); }

std::optional<std::uint64_t> file_identity(const std::string& path) noexcept {
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
    return static_cast<std::uint64_t>(found.st_ino);
}

}  // namespace asio_infer
