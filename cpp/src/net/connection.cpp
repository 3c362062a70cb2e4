#include "net/connection.hpp"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <new>
#include <utility>

namespace asio_infer {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr asio::as_tuple_t<asio::use_awaitable_t<connection::executor>> in_coroutine;
constexpr std::size_t max_pieces = 16;  ///< entries of one gathered write

class set_while_in_scope {
public:
    explicit set_while_in_scope(bool& flag) noexcept : flag_(flag) { flag_ = true; }
    ~set_while_in_scope() { flag_ = false; }
    set_while_in_scope(const set_while_in_scope&) = delete;
    set_while_in_scope& operator=(const set_while_in_scope&) = delete;

private:
    bool& flag_;
};

/// The socket's pending error, as an option that Asio can get (GettableSocketOption).
struct socket_error {
    template <class Protocol>
    static int level(const Protocol&) noexcept {
        return SOL_SOCKET;
    }
    template <class Protocol>
    static int name(const Protocol&) noexcept {
        return SO_ERROR;
    }
    template <class Protocol>
    void* data(const Protocol&) noexcept {
        return &value;
    }
    template <class Protocol>
    static std::size_t size(const Protocol&) noexcept {
        return sizeof(int);
    }
    template <class Protocol>
    static void resize(const Protocol&, std::size_t) noexcept {}
    int value = 0;
};

}  // namespace

connection::connection(socket_type socket, task_executor& home, session_factory& sessions, busy_observer& observer)
    : socket_(std::move(socket)),
      home_(home),
      changed_(socket_.get_executor(), time_point::max()),
      session_(sessions.make(*this, clock::now())),
      observer_(observer) {}

connection::awaitable<void> connection::run() {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);  // an error on a Unix-domain socket
    try {
        co_await read_until_over();
    } catch (const std::bad_alloc&) {
        abort();
    }
    fail();
    // The handlers of requests and of a write refer to this object until they have run.
    while (!session_->quiet() || waiting_writable_ || watching_) co_await changed_.async_wait(in_coroutine);
    tell_whether_busy();
}

connection::awaitable<void> connection::read_until_over() {
    while (!session_->over()) {
        std::span<std::byte> room;
        in_session([&] { room = session_->prepare(); });
        if (session_->over()) break;
        if (room.empty()) {
            watch_for_reset();
            if (!session_->over()) co_await changed_.async_wait(in_coroutine);
            continue;
        }
        const auto [ec, n] = co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), in_coroutine);
        if (session_->over()) break;
        in_session([&, ec = ec, n = n] {
            if (ec == asio::error::eof)
                session_->peer_finished(clock::now());
            else if (ec)
                session_->peer_gone();
            else
                session_->received(n, clock::now());
        });
    }
}

/// A call into the session. What it wants is done when the call returns.
template <class Call>
void connection::in_session(Call call) {
    {
        const set_while_in_scope entered(in_session_);
        call();
    }
    if (next_session_) session_ = std::move(next_session_);
    flush();
    if (std::exchange(wake_when_out_, false)) changed_.cancel();
}

void connection::session_changed() noexcept {
    if (in_session_) {
        wake_when_out_ = true;
        return;
    }
    flush();
    changed_.cancel();
}

/// Sends what the socket takes at once; the rest when it is writable again.
void connection::flush() noexcept {
    while (!waiting_writable_ && send_some()) {
    }
    if (session_->over())
        fail();
    else if (session_->send_side_over())
        end_sending();
    tell_whether_busy();
}

/// One write. False if there was nothing to send, or the socket has taken all that it takes now.
bool connection::send_some() noexcept {
    if (failed_) return false;
    std::array<std::span<const std::byte>, max_pieces> pieces;
    const std::size_t count = session_->to_send(pieces);
    if (count == 0) return false;
    std::array<asio::const_buffer, max_pieces> buffers;
    for (std::size_t i = 0; i < count; ++i) buffers[i] = {pieces[i].data(), pieces[i].size()};
    error_code ec;
    const std::size_t n =
        count == 1 ? socket_.write_some(buffers[0], ec) : socket_.write_some(std::span(buffers.data(), count), ec);
    const bool full = ec == asio::error::would_block || ec == asio::error::try_again;
    {
        const set_while_in_scope entered(in_session_);
        if (ec && !full)
            session_->peer_gone();
        else
            session_->sent(n, clock::now());
    }
    if (full && !waiting_writable_) wait_writable();
    return !full;
}

void connection::tell_whether_busy() noexcept {
    const bool busy = !session_->quiet();
    if (std::exchange(busy_, busy) != busy) observer_.busy_changed(busy);
}

void connection::wait_writable() {
    waiting_writable_ = true;
    socket_.async_wait(socket_type::wait_write, [this](const error_code& ec) {
        waiting_writable_ = false;
        if (!ec) flush();
        changed_.cancel();
    });
}

/// While nothing is read, because the peer has finished or because there is no memory for what it sends, a reset is
/// noticed in this way.
void connection::watch_for_reset() noexcept {
    if (watching_ || failed_) return;
    if (was_reset()) return abort();
    watching_ = true;
    socket_.async_wait(socket_type::wait_error, [this](const error_code& ec) {
        watching_ = false;
        if (!ec && was_reset()) abort();
        changed_.cancel();
    });
}

bool connection::was_reset() noexcept {
    socket_error state;
    error_code ec;
    socket_.get_option(state, ec);
    return ec || state.value != 0;
}

/// The peer reads end of stream behind the last answer.
void connection::end_sending() noexcept {
    if (std::exchange(send_ended_, true)) return;
    error_code ignored;
    socket_.shutdown(socket_type::shutdown_send, ignored);
}

/// Ends the reading and writing, which wakes run().
void connection::fail() noexcept {
    if (std::exchange(failed_, true)) return;
    error_code ignored;
    socket_.close(ignored);
    changed_.cancel();
}

void connection::check_deadline(time_point now) noexcept {
    if (failed_ || session_->deadline() > now) return;
    // A socket says that it is writable when a good part of its buffer is free; what a slow reader has taken since then
    // is seen by trying.
    if (waiting_writable_) {
        send_some();
        flush();
        if (failed_ || session_->deadline() > now) return;
    }
    // An idle connection's request may have come in this moment: the handler that reads it is due.
    error_code ignored;
    if (!busy_ && !send_ended_ && socket_.available(ignored) > 0) return;
    in_session([&] { session_->deadline_passed(now); });
}

void connection::retire(time_point now) noexcept {
    in_session([&] { session_->retire(now); });
}

void connection::drain(time_point now) noexcept {
    in_session([&] { session_->drain(now); });
}

void connection::abort() noexcept {
    {
        const set_while_in_scope entered(in_session_);
        session_->peer_gone();
    }
    fail();
    tell_whether_busy();
}

}  // namespace asio_infer
