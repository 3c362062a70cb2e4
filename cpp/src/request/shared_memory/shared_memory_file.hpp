#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace asio_infer {

/// An open shared memory object. It is read and written through its descriptor and never mapped: a client may shorten
/// it at any time, which would end this process by a signal if it touched mapped pages that are gone. Thread-safe.
class shared_memory_file {
public:
    /// Whether this system has shared memory that can be used in this way.
    static bool supported() noexcept;

    /// The object with this key, if it is there, this user may read and write it, and it has at least `size` bytes.
    static std::optional<shared_memory_file> open(const std::string& key, std::uint64_t size) noexcept;

    shared_memory_file(shared_memory_file&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
    shared_memory_file& operator=(shared_memory_file&&) = delete;
    ~shared_memory_file();

    /// False if the object has become too short, or the system fails.
    bool read(std::uint64_t at, std::span<std::byte> out) const noexcept;
    bool write(std::uint64_t at, std::span<const std::byte> bytes) const noexcept;

private:
    explicit shared_memory_file(int descriptor) noexcept : descriptor_(descriptor) {}

    int descriptor_;
};

}  // namespace asio_infer
