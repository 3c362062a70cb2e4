#pragma once

#include "core/byte_budget.hpp"
#include "core/exchange.hpp"

namespace asio_infer::grpc {

class grpc_message;

/// The call that a message belongs to.
class message_owner {
public:
    virtual task_executor& home() noexcept = 0;
    /// The message may be gone when it returns.
    virtual void answered(grpc_message& m) noexcept = 0;
    virtual void part_answered(grpc_message& m) noexcept = 0;

protected:
    ~message_owner() = default;
};

/// One message of a call, and its answer.
class grpc_message final : public exchange {
public:
    grpc_message(message_owner& owner, byte_budget& budget) noexcept : lease(budget), owner_(owner) {}
    task_executor& home() noexcept override { return owner_.home(); }
    void complete() noexcept override { owner_.answered(*this); }
    void send_message() noexcept override { owner_.part_answered(*this); }

    byte_lease lease;  ///< for the request's bytes

private:
    message_owner& owner_;
};

}  // namespace asio_infer::grpc
