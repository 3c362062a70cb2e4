#include "net/connection.hpp"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <new>
#include <utility>

namespace asio_infer {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr asio::as_tuple_t<asio::use_awaitable_t<connection::executor>> in_coroutine;
constexpr std::size_t max_pieces = 16;  ///< entries of one gathered write

}  // namespace

connection::connection(socket_type socket, task_executor& home, session_factory& sessions)
    : socket_(std::move(socket)),
      home_(home),
      changed_(socket_.get_executor(), time_point::max()),
      session_(sessions.make(*this, clock::now())) {}

connection::awaitable<void> connection::run() {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    try {
        co_await read_until_over();
    } catch (const std::bad_alloc&) {
        abort();
    }
    fail();
    // The handlers of requests and of a write refer to this object until they have run.
    while (!session_->quiet() || waiting_writable_) co_await changed_.async_wait(in_coroutine);
}

connection::awaitable<void> connection::read_until_over() {
    while (!session_->over()) {
        const std::span<std::byte> room = session_->prepare();
        if (room.empty()) {
            co_await changed_.async_wait(in_coroutine);
            continue;
        }
        const auto [ec, n] = co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), in_coroutine);
        if (session_->over()) break;
        in_session_ = true;
        if (ec == asio::error::eof)
            session_->peer_finished(clock::now());
        else if (ec)
            session_->peer_gone();
        else
            session_->received(n, clock::now());
        in_session_ = false;
        flush();
    }
}

void connection::session_changed() noexcept {
    if (in_session_) return;
    flush();
    changed_.cancel();
}

/// Sends what the socket takes at once; the rest when it is writable again.
void connection::flush() noexcept {
    while (!waiting_writable_ && !failed_) {
        std::array<std::span<const std::byte>, max_pieces> pieces;
        const std::size_t count = session_->to_send(pieces);
        if (count == 0) break;
        std::array<asio::const_buffer, max_pieces> buffers;
        for (std::size_t i = 0; i < count; ++i) buffers[i] = {pieces[i].data(), pieces[i].size()};
        error_code ec;
        const std::size_t n =
            count == 1 ? socket_.write_some(buffers[0], ec) : socket_.write_some(std::span(buffers.data(), count), ec);
        const bool full = ec == asio::error::would_block || ec == asio::error::try_again;
        in_session_ = true;
        if (ec && !full)
            session_->peer_gone();
        else
            session_->sent(n, clock::now());
        in_session_ = false;
        if (full) wait_writable();
    }
    if (session_->over())
        fail();
    else if (session_->send_side_over())
        end_sending();
}

void connection::wait_writable() {
    waiting_writable_ = true;
    socket_.async_wait(socket_type::wait_write, [this](const error_code& ec) {
        waiting_writable_ = false;
        if (!ec) flush();
        changed_.cancel();
    });
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
    in_session_ = true;
    session_->deadline_passed(now);
    in_session_ = false;
    flush();
}

void connection::drain(time_point now) noexcept {
    in_session_ = true;
    session_->drain(now);
    in_session_ = false;
    flush();
}

void connection::abort() noexcept {
    in_session_ = true;
    session_->peer_gone();
    in_session_ = false;
    fail();
}

}  // namespace asio_infer
