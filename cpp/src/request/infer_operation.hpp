#pragma once

#include <cstdint>

#include "core/byte_budget.hpp"
#include "core/exchange.hpp"
#include "core/inflate.hpp"
#include "core/served_model.hpp"
#include "request/router_context.hpp"

namespace asio_infer {

/// One inference over the network: decode, bind, submit, encode, send. Lives in its exchange and ends with it.
///
/// It has one owner at a time: the connection's thread (home), a worker, the scheduler (which holds the call), home
/// again. Large JSON is decoded and encoded on workers, and coded bodies are expanded there; everything else happens at
/// home. `cancel` comes from home at any time, so what it touches (`submitted_`, `cancelled_`, `in_cancel_`) belongs to
/// home only.
class infer_operation final : public operation, public call_receiver, private task {
public:
    /// `model`: null if the message names it. Throws std::bad_alloc.
    infer_operation(const router_context& context, exchange& x, model_ptr model, caller who);

    /// On home, once. The exchange, and this, may be gone when it returns.
    void start() noexcept;
    void cancel() noexcept override;
    void deliver(infer_call_ptr call) noexcept override;

private:
    enum class step : std::uint8_t { decode, complete, submit, encode, send };

    void run() noexcept override;
    void post(task_executor& where, step next) noexcept;
    bool heavy_request() const noexcept;
    bool is_message() const noexcept { return x_.request.form == payload::protobuf; }
    body_coding coding() const noexcept;
    template <class Work>
    void attempt(Work work) noexcept;
    void decode() noexcept;
    void complete_request() noexcept;
    result<void> decode_request();
    result<void> read_message();
    result<void> expand();
    result<void> count_tensors();
    void submit() noexcept;
    /// Ends a request that never reached the scheduler; call_->outcome says why.
    void fail() noexcept;
    bool heavy_answer() const noexcept;
    void encode() noexcept;
    void encode_and_send() noexcept;
    void send() noexcept;

    const router_context& context_;
    exchange& x_;
    model_ptr model_;
    const caller who_;
    byte_lease decoded_;   ///< for what the request holds beside its body as it came
    infer_call_ptr call_;  ///< null while the scheduler has it
    step next_ = step::decode;
    bool submitted_ = false;
    bool cancelled_ = false;
    bool in_cancel_ = false;
};

}  // namespace asio_infer
