#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace asio_infer {

/// Walks a BYTES tensor: each element is a 4-byte little-endian length and that many bytes.
class bytes_elements {
public:
    explicit bytes_elements(std::span<const std::byte> packed) noexcept : rest_(packed) {}

    /// The next element, a view into the tensor; nothing at the end, or where a length reaches beyond it (then
    /// rest() is not empty).
    std::optional<std::string_view> next() noexcept {
        std::uint32_t length = 0;
        if (rest_.size() < sizeof length) return std::nullopt;
        std::memcpy(&length, rest_.data(), sizeof length);
        if (length > rest_.size() - sizeof length) return std::nullopt;
        const auto* text = reinterpret_cast<const char*>(rest_.data() + sizeof length);
        rest_ = rest_.subspan(sizeof length + length);
        return std::string_view{text, length};
    }
    /// What has not been walked yet.
    std::span<const std::byte> rest() const noexcept { return rest_; }

private:
    std::span<const std::byte> rest_;
};

/// The number of elements, or nothing if the lengths do not add up to the tensor's bytes exactly.
inline std::optional<std::size_t> count_bytes_elements(std::span<const std::byte> packed) noexcept {
    bytes_elements elements(packed);
    std::size_t count = 0;
    while (elements.next()) ++count;
    if (!elements.rest().empty()) return std::nullopt;
    return count;
}

}  // namespace asio_infer
