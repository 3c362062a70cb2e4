#pragma once

#include <asio_infer/dtype.hpp>
#include <asio_infer/shape.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace asio_infer {

/// Inputs are aligned to this many bytes before a runtime sees them: ONNX Runtime's results can differ in their last
/// bits with the alignment, and 64 is what its own allocator gives.
inline constexpr std::size_t tensor_alignment = 64;

/// Read-only bytes and what keeps them alive: a request's body, the runtime's output value, an array of the caller's.
/// Copies share the bytes. Thread-safe as shared_ptr is.
class buffer {
public:
    buffer() = default;
    buffer(std::shared_ptr<const void> owner, std::span<const std::byte> bytes) noexcept
        : owner_(std::move(owner)), bytes_(bytes) {}

    const std::byte* data() const noexcept { return bytes_.data(); }
    std::size_t size() const noexcept { return bytes_.size(); }
    std::span<const std::byte> bytes() const noexcept { return bytes_; }
    /// A part of these bytes that shares their owner. Precondition: offset + count <= size().
    buffer slice(std::size_t offset, std::size_t count) const { return {owner_, bytes_.subspan(offset, count)}; }
    bool aligned() const noexcept { return reinterpret_cast<std::uintptr_t>(bytes_.data()) % tensor_alignment == 0; }
    /// Whether nobody else keeps these bytes, so that they may be given away.
    bool sole_owner() const noexcept { return owner_.use_count() == 1; }

private:
    std::shared_ptr<const void> owner_;
    std::span<const std::byte> bytes_;
};

/// Writable memory of one owner that becomes a `buffer` once it is filled. `data()` is aligned to
/// `tensor_alignment` at byte `aligned_at`, so that a tensor which follows a text of that length is aligned in place.
class unique_buffer {
public:
    unique_buffer() = default;
    /// Uninitialised bytes. Throws std::bad_alloc.
    explicit unique_buffer(std::size_t size, std::size_t aligned_at = 0);

    std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    std::span<std::byte> bytes() const noexcept { return {data_, size_}; }
    /// Keeps the first `size` bytes. Precondition: size <= size().
    void truncate(std::size_t size) noexcept { size_ = size; }
    /// Ends the writing: the bytes as a shared, read-only buffer.
    buffer share() && noexcept;

private:
    std::shared_ptr<std::byte[]> memory_;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

/// A tensor: row-major, packed, little-endian bytes as the protocol's binary form has them, BYTES included (each
/// element a 4-byte length and its bytes). Invariant for fixed-size types: data.size() == elements * element_size.
struct tensor {
    dtype type = dtype::fp32;
    asio_infer::shape shape;
    buffer data;
};

}  // namespace asio_infer
