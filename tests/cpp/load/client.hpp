#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <string>
#include <string_view>

namespace load {

struct answer {
    int status = 0;  ///< 0: the connection ended before the answer was whole
    bool retry_after = false;
    std::string_view body;
};

/// One keep-alive connection with one request at a time. It connects when it has to.
class client {
public:
    using handler = std::function<void(const answer&)>;

    client(boost::asio::io_context& context, const boost::asio::ip::tcp::endpoint& server)
        : socket_(context), server_(server) {}

    /// Sends the request, which stays where it is until `done` is called. Not again before that.
    void ask(std::string_view request, handler done);

private:
    void connect();
    void send();
    void read();
    bool take_answer();
    void finish(const answer& got);
    void close() noexcept;

    boost::asio::ip::tcp::socket socket_;
    boost::asio::ip::tcp::endpoint server_;
    std::string_view request_;
    handler done_;
    std::string in_;
    std::size_t begin_ = 0;  ///< of the answer in in_: interim ones have gone before
    std::size_t used_ = 0;   ///< of in_ is what was received
};

}  // namespace load
