#pragma once

#include <asio_infer/infer.hpp>
#include <cstdint>
#include <memory>
#include <string_view>
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
    /// The server stops. What ends by itself goes on; what would wait for ever completes its exchange. On the
    /// connection's thread.
    virtual void wind_down() noexcept {}
};

/// One request and its answer. Owned by its connection's session and used on the connection's thread only, but for
/// what an operation hands to workers meanwhile. The session keeps it until complete() even if the client is gone.
class exchange {
public:
    request_message request;
    response_message response;
    time_point arrived{};                ///< when the request was complete
    time_point due = no_deadline;        ///< when the client gives up, if it says so beside the message (grpc-timeout)
    std::string_view caller;             ///< the name of the key that it came with, for the log; lives with the server
    std::unique_ptr<operation> pending;  ///< owned here so that the client's leaving can reach it

    /// The thread of the connection, where complete() must be called.
    virtual task_executor& home() noexcept = 0;
    /// The response is ready to leave. Exactly once, on home(). The exchange may be gone when it returns.
    virtual void complete() noexcept = 0;
    /// The response is one message of several: it leaves, and the response is cleared for the next. On home(), before
    /// complete(), and only for methods that the handler calls `watch`.
    virtual void send_message() noexcept {}

protected:
    ~exchange() = default;
};

/// How the messages of a gRPC method go.
enum class rpc_kind : std::uint8_t {
    unary,    ///< one request, one answer
    stream,   ///< any number of requests, each answered when it is done
    watch,    ///< one request, messages until it is over
    unknown,  ///< there is no such method
};

/// What a protocol session does with a complete request: the request stage implements it.
class request_handler {
public:
    virtual ~request_handler() = default;
    virtual rpc_kind kind_of_rpc(std::string_view path) const noexcept = 0;
    /// Whether the request may go on, judged by its header alone, before its body is read. handle() judges again: it
    /// is the one that nothing passes by.
    virtual result<void> admit(const request_message& header) const noexcept = 0;
    /// Where in a request's body the tensors start, as far as its header and its first bytes tell, so that they can be
    /// aligned in place; 0 if there are none.
    virtual std::size_t tensor_start(const request_message& header, std::string_view first_bytes) const noexcept = 0;
    /// Sees to it that x.complete() is called: inside the call or later.
    virtual void handle(exchange& x) noexcept = 0;
    /// Fills x.response, which is cleared, with the error's answer: for a request that the protocol itself refuses,
    /// also while it is incomplete. Counts it. The session completes the exchange.
    virtual void refuse(const error& e, exchange& x) noexcept = 0;
};

}  // namespace asio_infer
