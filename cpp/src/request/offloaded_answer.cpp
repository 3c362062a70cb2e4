#include "request/offloaded_answer.hpp"

#include <exception>
#include <memory>

#include "request/answer.hpp"

namespace asio_infer {

namespace {

/// An answer on its way over the workers and back home. Lives in its exchange.
class offloaded_answer final : public operation, private task {
public:
    offloaded_answer(const route_call& call, answer_filler fill) noexcept
        : context_(call.context), x_(call.x), who_(call.who), fill_(fill) {}
    void start() noexcept { context_.workers.post(*this); }

private:
    void run() noexcept override {
        if (filled_) {
            send_answer(context_, x_, {});  // *this is gone
            return;
        }
        try {
            fill_(context_, context_.encoder_of(x_.request), who_, x_.response);
            dress_answer(context_, x_.request, x_.response);
        } catch (const std::exception&) {
            set_out_of_memory(x_.response);
        }
        filled_ = true;
        x_.home().post(*this);
    }

    const router_context& context_;
    exchange& x_;
    const caller who_;
    const answer_filler fill_;
    bool filled_ = false;
};

}  // namespace

std::vector<model_ptr> visible_models(const router_context& context, caller who) {
    std::vector<model_ptr> models = context.models.all();
    std::erase_if(models, [&](const model_ptr& each) { return !sees(who, each->spec().name); });
    return models;
}

progress answer_by_size(const route_call& call, std::size_t expected_bytes, answer_filler fill) {
    if (expected_bytes <= call.context.limits.offload_bytes) {
        fill(call.context, call.encoder, call.who, call.x.response);
        return progress::answered;
    }
    auto answer = std::make_unique<offloaded_answer>(call, fill);
    offloaded_answer& started = *answer;
    call.x.pending = std::move(answer);
    started.start();
    return progress::pending;
}

}  // namespace asio_infer
