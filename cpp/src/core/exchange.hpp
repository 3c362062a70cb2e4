#pragma once

#include <asio_infer/infer.hpp>
#include <memory>
#include <utility>

#include "core/executor.hpp"
#include "core/message.hpp"

namespace asio_infer {

/// State that a handler keeps while its request is unanswered.
class operation {
public:
    virtual ~operation() = default;
    /// The client is gone: end early. On the connection's thread. The operation still completes its exchange.
    virtual void cancel() noexcept {}
};

/// One request and its answer. Owned by its connection's session and used on the connection's thread only, but for
/// what an operation hands to workers meanwhile. The session keeps it until complete() even if the client is gone.
class exchange {
public:
    request_message request;
    response_message response;
    time_point arrived{};                ///< when the request was complete
    std::unique_ptr<operation> pending;  ///< owned here so that the client's leaving can reach it

    /// The thread of the connection, where complete() must be called.
    virtual task_executor& home() noexcept = 0;
    /// The response is ready to leave. Exactly once, on home(). The exchange may be gone when it returns.
    virtual void complete() noexcept = 0;

protected:
    ~exchange() = default;
};

/// What a protocol session does with a complete request: the request stage implements it.
class request_handler {
public:
    virtual ~request_handler() = default;
    /// Sees to it that x.complete() is called: inside the call or later.
    virtual void handle(exchange& x) noexcept = 0;
    /// Fills x.response, which is cleared, with the error's answer: for a request that the protocol itself refuses,
    /// also while it is incomplete. Counts it. The session completes the exchange.
    virtual void refuse(const error& e, exchange& x) noexcept = 0;
};

}  // namespace asio_infer
