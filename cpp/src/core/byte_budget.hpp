#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace asio_infer {

/// Bytes that all requests and responses in flight may hold together. Thread-safe, lock-free. Outlives its leases.
class byte_budget {
public:
    explicit byte_budget(std::size_t limit) noexcept : limit_(limit) {}

    bool try_take(std::size_t bytes) noexcept {
        std::size_t used = used_.load(std::memory_order_relaxed);
        do {
            if (bytes > limit_ - used) return false;
        } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
        return true;
    }
    void give_back(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
    std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    std::size_t limit() const noexcept { return limit_; }

private:
    const std::size_t limit_;
    std::atomic<std::size_t> used_{0};
};

/// A share of the budget; returns what it holds when it ends.
class byte_lease {
public:
    byte_lease() = default;
    explicit byte_lease(byte_budget& budget) noexcept : budget_(&budget) {}
    byte_lease(byte_lease&& other) noexcept
        : budget_(other.budget_), bytes_(std::exchange(other.bytes_, std::size_t{0})) {}
    byte_lease& operator=(byte_lease&& other) noexcept {
        if (this != &other) {
            release();
            budget_ = other.budget_;
            bytes_ = std::exchange(other.bytes_, std::size_t{0});
        }
        return *this;
    }
    ~byte_lease() { release(); }

    /// Holds `bytes` in all from now on; false, and no change, if growing to that is over the limit.
    bool resize(std::size_t bytes) noexcept {
        if (bytes > bytes_ && !budget_->try_take(bytes - bytes_)) return false;
        if (bytes < bytes_) budget_->give_back(bytes_ - bytes);
        bytes_ = bytes;
        return true;
    }
    void release() noexcept {
        if (bytes_ > 0) budget_->give_back(std::exchange(bytes_, std::size_t{0}));
    }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    byte_budget* budget_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace asio_infer
