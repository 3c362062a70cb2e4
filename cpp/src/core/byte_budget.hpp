#pragma once

#include <algorithm>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "core/drain_rate.hpp"

namespace asio_infer {

/// Bytes that all requests and responses in flight may hold together. Thread-safe; lock-free while nobody waits.
/// Outlives its leases and waiters.
///
/// Bodies that are still arriving are told apart: they hold bytes without any promise to give them back, so a body that
/// needs more may wait only while something else holds bytes. Otherwise half bodies could wait for each other.
class byte_budget {
public:
    /// Who waits for bytes. Lives until it was called or has been forgotten.
    class waiter : public boost::intrusive::list_base_hook<> {
    public:
        /// There may be room now. On any thread, inside a call of the budget: it may only post.
        virtual void room_made() noexcept = 0;

    protected:
        ~waiter() = default;

    private:
        friend class byte_budget;
        std::size_t needed_ = 0;
    };

    explicit byte_budget(std::size_t limit) noexcept : limit_(limit) {}

    bool try_take(std::size_t bytes, bool arriving = false) noexcept {
        // Counted as arriving first: seen in between, the bytes may end a wait too early, but never begin one in vain.
        if (arriving) arriving_.fetch_add(bytes);
        std::size_t used = used_.load(std::memory_order_relaxed);
        do {
            if (bytes > limit_ - used) {
                if (arriving) arriving_.fetch_sub(bytes);
                return false;
            }
        } while (!used_.compare_exchange_weak(used, used + bytes));
        return true;
    }
    void give_back(std::size_t bytes, bool arriving = false) noexcept {
        if (arriving) arriving_.fetch_sub(bytes);
        given_back_.fetch_add(bytes, std::memory_order_relaxed);
        // Ordered against wait(): either it sees these bytes, or its waiter is seen here.
        used_.fetch_sub(bytes);
        if (waiting_.load() > 0) wake();
    }
    /// The body that holds these bytes is complete, or has begun.
    void set_arriving(std::size_t bytes, bool arriving) noexcept {
        if (arriving)
            arriving_.fetch_add(bytes);
        else
            arriving_.fetch_sub(bytes);
    }
    /// Whether only half bodies hold bytes, so that waiting may be in vain.
    bool only_arriving() const noexcept { return used_.load() <= arriving_.load(); }

    /// Calls w.room_made() once `bytes` are free, or once waiting has become vain; perhaps inside this call.
    void wait(waiter& w, std::size_t bytes) noexcept {
        {
            const std::lock_guard lock(mutex_);
            w.needed_ = bytes;
            waiters_.push_back(w);
            waiting_.fetch_add(1);
        }
        wake();
    }
    /// Takes it off the list; false if it has been called already.
    bool forget(waiter& w) noexcept {
        const std::lock_guard lock(mutex_);
        if (!w.is_linked()) return false;
        remove(w);
        return true;
    }

    std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    std::size_t limit() const noexcept { return limit_; }

    /// Whole seconds until `bytes` will have been given back, at the rate that was seen since refusals began.
    std::uint32_t seconds_until_free(std::size_t bytes, time_point now) noexcept {
        constexpr std::chrono::seconds stale{5};
        const std::lock_guard lock(mutex_);
        const auto left = static_cast<double>(given_back_.exchange(0, std::memory_order_relaxed));
        if (now - asked_ > stale)
            drained_ = {};
        else
            drained_.record(left, now);
        asked_ = now;
        return drained_.seconds_for(static_cast<double>(bytes), now);
    }

private:
    void remove(waiter& w) noexcept {
        waiters_.erase(waiters_.iterator_to(w));
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    /// First come, first served.
    void wake() noexcept {
        const std::lock_guard lock(mutex_);
        std::size_t room = limit_ - used_.load();
        bool in_vain = only_arriving();
        while (!waiters_.empty() && (waiters_.front().needed_ <= room || in_vain)) {
            waiter& next = waiters_.front();
            in_vain = in_vain && next.needed_ <= room;
            room -= std::min(room, next.needed_);
            remove(next);
            next.room_made();
        }
    }

    const std::size_t limit_;
    std::atomic<std::size_t> used_{0};
    std::atomic<std::size_t> arriving_{0};    ///< of these, by bodies that are not complete
    std::atomic<std::size_t> given_back_{0};  ///< since the last question for the rate
    std::atomic<std::size_t> waiting_{0};
    std::mutex mutex_;  ///< guards all below
    boost::intrusive::list<waiter> waiters_;
    drain_rate drained_;
    time_point asked_{};
};

/// A share of the budget; returns what it holds when it ends.
class byte_lease {
public:
    byte_lease() = default;
    explicit byte_lease(byte_budget& budget) noexcept : budget_(&budget) {}
    byte_lease(byte_lease&& other) noexcept
        : budget_(other.budget_), bytes_(std::exchange(other.bytes_, std::size_t{0})), arriving_(other.arriving_) {}
    byte_lease& operator=(byte_lease&& other) noexcept {
        if (this != &other) {
            release();
            budget_ = other.budget_;
            bytes_ = std::exchange(other.bytes_, std::size_t{0});
            arriving_ = other.arriving_;
        }
        return *this;
    }
    ~byte_lease() { release(); }

    /// Holds `bytes` in all from now on; false, and no change, if growing to that is over the limit.
    bool resize(std::size_t bytes) noexcept {
        if (bytes > bytes_ && !budget_->try_take(bytes - bytes_, arriving_)) return false;
        if (bytes < bytes_) budget_->give_back(bytes_ - bytes, arriving_);
        bytes_ = bytes;
        return true;
    }
    /// Whether it is for a body that still arrives.
    void set_arriving(bool arriving) noexcept {
        if (std::exchange(arriving_, arriving) != arriving && bytes_ > 0) budget_->set_arriving(bytes_, arriving);
    }
    void release() noexcept {
        if (bytes_ > 0) budget_->give_back(std::exchange(bytes_, std::size_t{0}), arriving_);
        arriving_ = false;
    }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    byte_budget* budget_ = nullptr;
    std::size_t bytes_ = 0;
    bool arriving_ = false;
};

}  // namespace asio_infer
