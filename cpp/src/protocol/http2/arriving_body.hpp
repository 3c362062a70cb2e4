#pragma once

#include <asio_infer/tensor.hpp>
#include <cstddef>
#include <span>

#include "core/byte_budget.hpp"

namespace asio_infer::http2 {

/// The memory of a body, or of a message, while its bytes arrive, and its share of the budget.
class arriving_body {
public:
    explicit arriving_body(byte_budget& budget) noexcept : lease(budget) {}

    /// A body of exactly `size` bytes, aligned to tensor_alignment at byte `aligned_at`. Throws std::bad_alloc.
    void expect(std::size_t size, std::size_t aligned_at);
    /// A body whose end is not known; it grows up to `limit`.
    void expect_some(std::size_t limit, std::size_t aligned_at) noexcept;
    /// How many bytes may still come.
    std::size_t room() const noexcept { return limit_ - size_; }
    std::size_t size() const noexcept { return size_; }
    /// Takes bytes, for which there is room and which the lease covers. Throws std::bad_alloc.
    void append(std::span<const std::byte> bytes);
    /// The body is complete. The lease stays.
    buffer share() noexcept;
    /// Gives memory and lease back.
    void drop() noexcept;

    byte_lease lease;

private:
    void grow(std::size_t needed);

    unique_buffer memory_;
    std::size_t limit_ = 0;
    std::size_t aligned_at_ = 0;
    std::size_t size_ = 0;
};

}  // namespace asio_infer::http2
