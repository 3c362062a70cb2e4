#include "request/shared_memory/shared_memory_file.hpp"

namespace asio_infer {

// Windows has named sections, which can only be mapped.

bool shared_memory_file::supported() noexcept { return false; }
std::optional<shared_memory_file> shared_memory_file::open(const std::string&, std::uint64_t) noexcept {
    return std::nullopt;
}
shared_memory_file::~shared_memory_file() = default;
bool shared_memory_file::read(std::uint64_t, std::span<std::byte>) const noexcept { return false; }
bool shared_memory_file::write(std::uint64_t, std::span<const std::byte>) const noexcept { return false; }

}  // namespace asio_infer
