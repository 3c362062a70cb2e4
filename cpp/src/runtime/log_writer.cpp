#include "runtime/log_writer.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "runtime/log_output.hpp"

namespace asio_infer {

namespace {

using std::chrono::steady_clock;

/// How long one wait for the descriptor may take: how late the thread notices that it should give up.
constexpr std::chrono::milliseconds output_patience{50};

/// What the callers and the thread share. The thread keeps it alive, for it may outlast the writer when its
/// descriptor blocks.
struct log_state {
    explicit log_state(const log_writer_options& with) : options(with), waiting(with.bounds) {}

    const log_writer_options options;
    std::atomic<std::uint64_t> dropped{0};
    std::mutex mutex;  ///< guards all below
    std::condition_variable wake;
    std::condition_variable finished;
    log_batch waiting;
    bool stopping = false;
    bool done = false;
    steady_clock::time_point give_up_at = steady_clock::time_point::max();

    void count_dropped(std::uint64_t records) noexcept { dropped.fetch_add(records, std::memory_order_relaxed); }
    bool out_of_time() {
        const std::lock_guard lock(mutex);
        return steady_clock::now() >= give_up_at;
    }
};

/// The thread's side: takes what waits, all at once, and writes it.
class log_thread {
public:
    explicit log_thread(std::shared_ptr<log_state> state)
        : state_(std::move(state)),
          taken_(state_->options.bounds),
          colours_(state_->options.format == log_format::text && is_terminal(state_->options.descriptor)) {}

    void run() noexcept {
        block_signals();
        while (take()) {
            if (!write_taken()) state_->count_dropped(taken_.size());
            taken_.clear();
        }
        report_dropped();
        const std::lock_guard lock(state_->mutex);
        state_->done = true;
        state_->finished.notify_all();
    }

private:
    /// Waits for records; false when there are none and will be none.
    bool take() noexcept {
        std::unique_lock lock(state_->mutex);
        state_->wake.wait(lock, [this] { return state_->stopping || !state_->waiting.empty(); });
        std::swap(taken_, state_->waiting);
        return !taken_.empty();
    }

    /// False if not all of them could be written.
    bool write_taken() noexcept {
        try {
            text_.clear();
            for (std::size_t i = 0; i < taken_.size(); ++i) {
                append_log_line(text_, taken_[i], state_->options.format, colours_);
            }
        } catch (const std::exception&) {
            return false;
        }
        if (!put(text_)) return false;
        report_dropped();
        return true;
    }

    void report_dropped() noexcept {
        const std::uint64_t now_dropped = state_->dropped.load(std::memory_order_relaxed);
        if (now_dropped == reported_) return;
        const std::array<log_field, 1> fields{log_field{"count", now_dropped - reported_}};
        try {
            std::string line;
            append_log_line(line, {std::chrono::system_clock::now(), log_level::warning, "log records dropped", fields},
                            state_->options.format, colours_);
            if (put(line)) reported_ = now_dropped;
        } catch (const std::exception&) {
            // It is reported with the next ones.
        }
    }

    bool put(std::string_view text) noexcept {
        while (!text.empty()) {
            const output_result result = write_some(state_->options.descriptor, text, output_patience);
            text.remove_prefix(result.written);
            if (result.state == output_state::failed) return false;
            if (result.state == output_state::waiting && state_->out_of_time()) return false;
        }
        return true;
    }

    const std::shared_ptr<log_state> state_;
    log_batch taken_;
    std::string text_;
    const bool colours_;
    std::uint64_t reported_ = 0;
};

class log_writer final : public log_sink {
public:
    explicit log_writer(const log_writer_options& options) : state_(std::make_shared<log_state>(options)) {}
    ~log_writer() override;
    log_writer(const log_writer&) = delete;
    log_writer& operator=(const log_writer&) = delete;

    bool enabled(log_level level) const noexcept override {
        return level >= state_->options.level && level != log_level::off;
    }
    void write(log_level level, std::string_view message, std::initializer_list<log_field> fields) noexcept override;
    std::uint64_t dropped() const noexcept override { return state_->dropped.load(std::memory_order_relaxed); }

private:
    bool add(log_level level, std::string_view message, std::initializer_list<log_field> fields);
    void start_thread();
    void leave_to_parent();

    std::shared_ptr<log_state> state_;
    std::thread thread_;  ///< guarded by the state's mutex until the end
    int process_ = 0;     ///< the one that the thread runs in
};

void log_writer::write(log_level level, std::string_view message, std::initializer_list<log_field> fields) noexcept {
    if (!enabled(level)) return;
    try {
        if (!add(level, message, fields)) state_->count_dropped(1);
    } catch (const std::exception&) {
        state_->count_dropped(1);
    }
}

bool log_writer::add(log_level level, std::string_view message, std::initializer_list<log_field> fields) {
    const wall_time now = std::chrono::system_clock::now();
    bool first = false;
    {
        const std::lock_guard lock(state_->mutex);
        first = state_->waiting.empty();
        if (!state_->waiting.add(now, level, message, fields)) return false;
        if (!thread_.joinable()) start_thread();
    }
    // The thread sleeps only while nothing waits.
    if (first) state_->wake.notify_one();
    return true;
}

void log_writer::start_thread() {
    try {
        thread_ = std::thread([thread = std::make_shared<log_thread>(state_)] { thread->run(); });
        process_ = process_id();
    } catch (const std::exception&) {
        // The record waits; the next one tries again.
    }
}

log_writer::~log_writer() {
    if (!thread_.joinable()) return;
    if (process_ != process_id()) {
        leave_to_parent();
        return;
    }
    const auto give_up_at = steady_clock::now() + state_->options.flush_limit;
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    state_->give_up_at = give_up_at;
    state_->wake.notify_one();
    // A write that blocks although its descriptor was ready is the one thing that can make the thread late.
    const bool done =
        state_->finished.wait_until(lock, give_up_at + 4 * output_patience, [this] { return state_->done; });
    lock.unlock();
    if (done) {
        thread_.join();
    } else {
        thread_.detach();
    }
}

/// In a child made by fork the thread does not exist, and the mutex may be locked for ever: neither is touched.
void log_writer::leave_to_parent() {
    thread_.detach();
    static_cast<void>(new std::shared_ptr<log_state>(state_));
}

}  // namespace

std::shared_ptr<log_sink> make_log_writer(const log_writer_options& options) {
    return std::make_shared<log_writer>(options);
}

}  // namespace asio_infer
