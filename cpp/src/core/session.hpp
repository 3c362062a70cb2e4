#pragma once

#include <asio_infer/infer.hpp>
#include <cstddef>
#include <memory>
#include <span>

#include "core/exchange.hpp"
#include "core/executor.hpp"

namespace asio_infer {

class session;

/// The connection as its protocol session sees it.
class session_host {
public:
    virtual task_executor& home() noexcept = 0;
    virtual time_point now() const noexcept = 0;
    /// There is something to send, or the session wants to read again. From inside the session: acted on when the call
    /// into it returns.
    virtual void session_changed() noexcept = 0;
    /// `next` takes the session's place when the call into the session returns. Only from inside received()
    /// and deadline_passed().
    virtual void become(std::unique_ptr<session> next) noexcept = 0;

protected:
    ~session_host() = default;
};

/// One connection's protocol as a state machine without I/O: bytes in, bytes out, with the clock passed in. Everything
/// happens on the connection's thread. The connection reads into prepare(), sends what to_send() shows, and calls
/// deadline_passed() when the clock reaches deadline().
class session {
public:
    virtual ~session() = default;

    /// Where the next received bytes go; empty while nothing is to be read.
    virtual std::span<std::byte> prepare() = 0;
    /// `n` bytes have arrived in prepare()'s memory.
    virtual void received(std::size_t n, time_point now) noexcept = 0;
    /// The peer has closed its sending side. What it asked before is still answered.
    virtual void peer_finished(time_point now) noexcept = 0;
    /// The connection is dead: everything under way is cancelled, nothing is sent any more.
    virtual void peer_gone() noexcept = 0;

    /// Fills `out` with what is to be sent next, in order; returns how many entries it filled. What it shows stays
    /// there until sent().
    virtual std::size_t to_send(std::span<std::span<const std::byte>> out) noexcept = 0;
    /// `n` bytes of it have left; 0 says that none could.
    virtual void sent(std::size_t n, time_point now) noexcept = 0;

    /// When deadline_passed() is due; no_deadline if it is not.
    virtual time_point deadline() const noexcept = 0;
    virtual void deadline_passed(time_point now) noexcept = 0;

    /// The server is about to stop: what was received is answered, a request that is half there is refused, and every
    /// answer from now on is the connection's last. A connection without a request stays open for one.
    virtual void retire(time_point now) noexcept = 0;
    /// The server stops: as retire(), and nothing new is taken; close once all is answered.
    virtual void drain(time_point now) noexcept = 0;

    /// All is sent: close the sending side, but read on (the peer may not have read the answer yet).
    virtual bool send_side_over() const noexcept = 0;
    /// Nothing more will be read or sent.
    virtual bool over() const noexcept = 0;
    /// No exchange is under way: the session may be destroyed.
    virtual bool quiet() const noexcept = 0;
};

class session_factory {
public:
    virtual ~session_factory() = default;
    /// A session for one new connection. `host` outlives it.
    virtual std::unique_ptr<session> make(session_host& host, time_point now) = 0;
};

}  // namespace asio_infer
