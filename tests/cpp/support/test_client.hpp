#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/http_answers.hpp"

namespace asio_infer::testing {

/// A client that blocks: one TCP connection to a server on this machine. What takes longer than `patience`, or fails,
/// throws std::runtime_error.
class test_client {
public:
    static constexpr std::chrono::seconds patience{20};

    explicit test_client(std::uint16_t port) {
        finish("connect",
               [&](auto done) { socket_.async_connect({boost::asio::ip::address_v4::loopback(), port}, done); });
        socket_.set_option(boost::asio::ip::tcp::no_delay(true));
    }

    void send(std::string_view bytes) {
        finish("send", [&](auto done) {
            boost::asio::async_write(socket_, boost::asio::buffer(bytes),
                                     [done](const auto& ec, std::size_t) { done(ec); });
        });
    }
    /// The next answer. `without_body`: to a HEAD.
    http_answer read(bool without_body = false) {
        for (;;) {
            if (auto answer = answers_.next(without_body)) return *answer;
            if (!read_some()) throw std::runtime_error("end of stream within an answer: '" + answers_.rest() + "'");
        }
    }
    http_answer ask(std::string_view request) {
        send(request);
        return read();
    }
    /// Whether the server has nothing more to say: waits for its end of stream or reset.
    bool ends() {
        try {
            return answers_.rest().empty() && !read_some();
        } catch (const boost::system::system_error&) {
            return true;
        }
    }
    /// This side is over; the answers are still read.
    void finish_sending() { socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send); }
    /// Leaves rudely: the server's next system call fails.
    void reset() {
        socket_.set_option(boost::asio::socket_base::linger(true, 0));
        socket_.close();
    }

private:
    bool read_some() {
        std::size_t got = 0;
        boost::system::error_code failure;
        finish("read", [&](auto done) {
            socket_.async_read_some(boost::asio::buffer(chunk_), [&, done](const auto& ec, std::size_t n) {
                got = n;
                failure = ec;
                done({});
            });
        });
        if (failure == boost::asio::error::eof) return false;
        if (failure) throw boost::system::system_error(failure, "read");
        answers_.append({chunk_.data(), got});
        return true;
    }

    /// Starts an operation and runs it to its end.
    template <class Start>
    void finish(const char* what, Start start) {
        boost::system::error_code result = boost::asio::error::timed_out;
        start([&result](const boost::system::error_code& ec) { result = ec; });
        context_.restart();
        context_.run_for(patience);
        if (!result) return;
        socket_.close();  // an operation that is still under way ends while its memory is there
        context_.restart();
        context_.run();
        throw boost::system::system_error(result, what);
    }

    boost::asio::io_context context_;
    boost::asio::ip::tcp::socket socket_{context_};
    std::vector<char> chunk_ = std::vector<char>(std::size_t{64} << 10);
    http_answer_reader answers_;
};

}  // namespace asio_infer::testing
