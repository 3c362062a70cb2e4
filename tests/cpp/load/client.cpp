#include "load/client.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <cctype>
#include <charconv>
#include <utility>

namespace load {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t read_size = 16 * 1024;

/// The value of a header, whose name is given in lower case; empty if there is none.
std::string_view header(std::string_view head, std::string_view name) {
    const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
    for (std::size_t line = head.find("\r\n"); line != head.npos; line = head.find("\r\n", line + 2)) {
        const std::string_view rest = head.substr(line + 2);
        if (rest.size() <= name.size() || rest[name.size()] != ':') continue;
        if (!std::equal(name.begin(), name.end(), rest.begin(), [&](char a, char b) { return same(b, a); })) continue;
        std::string_view value = rest.substr(name.size() + 1, rest.find("\r\n") - name.size() - 1);
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        return value;
    }
    return {};
}

template <class Number>
Number number(std::string_view text) {
    Number value{};
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

void client::ask(std::string_view request, handler done) {
    request_ = request;
    done_ = std::move(done);
    begin_ = used_ = 0;
    if (socket_.is_open())
        send();
    else
        connect();
}

void client::connect() {
    socket_.async_connect(server_, [this](const error_code& ec) {
        if (ec) return finish({});
        error_code ignored;
        socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
        send();
    });
}

void client::send() {
    asio::async_write(socket_, asio::buffer(request_), [this](const error_code& ec, std::size_t) {
        // A refusal may come before the request has left: it is read all the same.
        if (!ec || used_ == 0) return read();
        finish({});
    });
}

void client::read() {
    if (in_.size() < used_ + read_size) in_.resize(used_ + read_size);
    socket_.async_read_some(asio::buffer(in_.data() + used_, in_.size() - used_),
                            [this](const error_code& ec, std::size_t n) {
                                used_ += n;
                                if (!take_answer()) return ec ? finish({}) : read();
                            });
}

/// True if the answer was whole, and `done` has been called.
bool client::take_answer() {
    for (;;) {
        const std::string_view bytes = std::string_view(in_).substr(begin_, used_ - begin_);
        const std::size_t end = bytes.find("\r\n\r\n");
        if (end == bytes.npos) return false;
        const std::string_view head = bytes.substr(0, end + 2);
        const int status = number<int>(head.substr(std::min<std::size_t>(9, head.size()), 3));
        if (status >= 100 && status < 200) {
            begin_ += end + 4;
            continue;
        }
        const auto length = number<std::size_t>(header(head, "content-length"));
        if (bytes.size() < end + 4 + length) return false;
        if (header(head, "connection") == "close") close();
        finish({status, !header(head, "retry-after").empty(), bytes.substr(end + 4, length)});
        return true;
    }
}

void client::finish(const answer& got) {
    if (got.status == 0) close();
    // Another request may be asked for inside the call.
    const handler done = std::exchange(done_, nullptr);
    done(got);
}

void client::close() noexcept {
    error_code ignored;
    socket_.close(ignored);
}

}  // namespace load
