#include "request/offloaded_answer.hpp"

#include <exception>
#include <memory>

#include "request/answer.hpp"

namespace asio_infer {

namespace {

/// An answer on its way over the workers and back home. Lives in its exchange.
class offloaded_answer final : public operation, private task {
public:
    offloaded_answer(const router_context& context, exchange& x, answer_filler fill) noexcept
        : context_(context), x_(x), fill_(fill) {}
    void start() noexcept { context_.workers.post(*this); }

private:
    void run() noexcept override {
        if (filled_) {
            send_answer(context_, x_, {});  // *this is gone
            return;
        }
        try {
            fill_(context_, context_.encoder_of(x_.request), x_.response);
            dress_answer(context_, x_.request, x_.response);
        } catch (const std::exception&) {
            set_out_of_memory(x_.response);
        }
        filled_ = true;
        x_.home().post(*this);
    }

    const router_context& context_;
    exchange& x_;
    const answer_filler fill_;
    bool filled_ = false;
};

}  // namespace

progress answer_by_size(const route_call& call, std::size_t expected_bytes, answer_filler fill) {
    if (expected_bytes <= call.context.limits.offload_bytes) {
        fill(call.context, call.encoder, call.x.response);
        return progress::answered;
    }
    auto answer = std::make_unique<offloaded_answer>(call.context, call.x, fill);
    offloaded_answer& started = *answer;
    call.x.pending = std::move(answer);
    started.start();
    return progress::pending;
}

}  // namespace asio_infer
