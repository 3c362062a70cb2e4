#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "request/shared_memory/shared_memory_file.hpp"

namespace asio_infer {

namespace {

/// Writing behind the end would make the object longer: a client that has shortened it does not want that.
bool has_bytes(int descriptor, std::uint64_t size) noexcept {
    struct stat found{};
    return ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) && found.st_size >= 0 &&
           static_cast<std::uint64_t>(found.st_size) >= size;
}

}  // namespace

bool shared_memory_file::supported() noexcept { return true; }

std::optional<shared_memory_file> shared_memory_file::open(const std::string& key, std::uint64_t size) noexcept {
    const int descriptor = ::shm_open(key.c_str(), O_RDWR, 0);  // which sets close-on-exec
    if (descriptor < 0) return std::nullopt;
    shared_memory_file opened(descriptor);
    if (!has_bytes(descriptor, size)) return std::nullopt;
    return opened;
}

shared_memory_file::~shared_memory_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

bool shared_memory_file::read(std::uint64_t at, std::span<std::byte> out) const noexcept {
    while (!out.empty()) {
        const ssize_t n = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(at));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += static_cast<std::uint64_t>(n);
        out = out.subspan(static_cast<std::size_t>(n));
    }
    return true;
}

bool shared_memory_file::write(std::uint64_t at, std::span<const std::byte> bytes) const noexcept {
    if (!has_bytes(descriptor_, at + bytes.size())) return false;
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += static_cast<std::uint64_t>(n);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
}

}  // namespace asio_infer
