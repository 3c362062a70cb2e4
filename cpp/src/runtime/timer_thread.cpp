#include "runtime/timer_thread.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace asio_infer {

namespace {

/// The timer itself; touched on the timer thread only.
struct timer_state {
    timer_state(boost::asio::io_context& context, std::function<void()> on_ring)
        : timer(context), ring(std::move(on_ring)) {}
    boost::asio::steady_timer timer;
    std::function<void()> ring;
};

void arm(const std::shared_ptr<timer_state>& state, time_point when) {
    state->timer.expires_at(when);
    state->timer.async_wait([weak = std::weak_ptr(state)](const boost::system::error_code& ec) {
        if (ec) return;
        if (const auto held = weak.lock()) held->ring();
    });
}

class thread_alarm final : public alarm {
public:
    thread_alarm(io_thread& thread, std::function<void()> on_ring)
        : thread_(thread), state_(std::make_shared<timer_state>(thread.context(), std::move(on_ring))) {}
    ~thread_alarm() override {
        // The last reference goes on the timer's own thread.
        boost::asio::post(thread_.context(), [state = std::move(state_)] {});
    }
    void set(time_point when) noexcept override {
        boost::asio::post(thread_.context(), [state = state_, when] { arm(state, when); });
    }

private:
    io_thread& thread_;
    std::shared_ptr<timer_state> state_;
};

}  // namespace

void timer_thread::stop() {
    thread_.context().stop();
    thread_.join();
}

std::unique_ptr<alarm> timer_thread::make_alarm(std::function<void()> on_ring) {
    return std::make_unique<thread_alarm>(thread_, std::move(on_ring));
}

}  // namespace asio_infer
