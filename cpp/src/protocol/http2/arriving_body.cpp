#include "protocol/http2/arriving_body.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace asio_infer::http2 {

namespace {
constexpr std::size_t first_size = 1'024;
}

void arriving_body::expect(std::size_t size, std::size_t aligned_at) {
    memory_ = unique_buffer(size, aligned_at);
    limit_ = size;
    aligned_at_ = aligned_at;
    size_ = 0;
}

void arriving_body::expect_some(std::size_t limit, std::size_t aligned_at) noexcept {
    memory_ = {};
    limit_ = limit;
    aligned_at_ = aligned_at;
    size_ = 0;
}

void arriving_body::append(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    if (size_ + bytes.size() > memory_.size()) grow(size_ + bytes.size());
    std::memcpy(memory_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
}

void arriving_body::grow(std::size_t needed) {
    unique_buffer larger(std::min(limit_, std::max({needed, 2 * memory_.size(), first_size})), aligned_at_);
    if (size_ > 0) std::memcpy(larger.data(), memory_.data(), size_);
    memory_ = std::move(larger);
}

buffer arriving_body::share() noexcept {
    memory_.truncate(size_);
    lease.set_arriving(false);
    limit_ = size_ = 0;
    return std::exchange(memory_, {}).share();
}

void arriving_body::drop() noexcept {
    memory_ = {};
    lease.release();
    limit_ = size_ = 0;
}

}  // namespace asio_infer::http2
