#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace asio_infer::grpc {

/// The five bytes before each message: whether it is compressed, and its length. Collects them as they come.
class message_prefix {
public:
    static constexpr std::size_t size = 5;

    /// Takes what it needs of `bytes`; returns how many it took.
    std::size_t take(std::span<const std::byte> bytes) noexcept {
        const std::size_t part = std::min(size - filled_, bytes.size());
        std::copy_n(bytes.begin(), part, bytes_.begin() + static_cast<std::ptrdiff_t>(filled_));
        filled_ += part;
        return part;
    }
    bool complete() const noexcept { return filled_ == size; }
    bool begun() const noexcept { return filled_ > 0; }
    void clear() noexcept { filled_ = 0; }

    // Precondition: complete().

    /// 0 or 1 in what this version of gRPC defines.
    std::uint8_t flag() const noexcept { return static_cast<std::uint8_t>(bytes_[0]); }
    std::uint32_t length() const noexcept {
        std::uint32_t value = 0;
        for (std::size_t i = 1; i < size; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes_[i]);
        return value;
    }

    static std::array<std::byte, size> print(bool compressed, std::size_t length) noexcept {
        const auto value = static_cast<std::uint32_t>(length);
        return {std::byte{compressed}, std::byte(value >> 24), std::byte(value >> 16), std::byte(value >> 8),
                std::byte(value)};
    }

private:
    std::array<std::byte, size> bytes_{};
    std::size_t filled_ = 0;
};

}  // namespace asio_infer::grpc
