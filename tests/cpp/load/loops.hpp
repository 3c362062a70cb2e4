#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "load/client.hpp"
#include "load/tally.hpp"

namespace load {

struct settings {
    boost::asio::ip::tcp::endpoint server;
    std::vector<std::string> requests;  ///< sent in turn
    std::string expected;               ///< the body of every 200; "": any
    std::size_t connections = 1;        ///< closed loop: as many; open loop: at most
    double rate = 0;                    ///< requests in a second; 0: closed loop
    std::chrono::duration<double> seconds{1};
};

/// The load itself. `connections` requests at a time, each as soon as the one before is answered; or, with a rate, each
/// when it is due, whatever has become of those before: its time counts from then.
class generator {
public:
    generator(boost::asio::io_context& context, const settings& how, tally& counts);
    void start();
    /// Whether all is sent and answered.
    bool finished() const noexcept { return over_ && outstanding_ == 0; }
    std::size_t outstanding() const noexcept { return outstanding_; }

private:
    void tick();
    void send_due();
    void issue(client& by, clock::time_point due);
    void answered(client& by, clock::time_point due, const answer& got);
    void count(clock::time_point due, const answer& got);
    client* free_client();

    boost::asio::io_context& context_;
    const settings& how_;
    tally& counts_;
    boost::asio::steady_timer timer_;
    std::vector<std::unique_ptr<client>> clients_;
    std::vector<client*> free_;
    clock::time_point began_{};
    std::uint64_t due_ = 0;
    std::size_t next_request_ = 0;
    std::size_t outstanding_ = 0;
    bool over_ = false;
};

/// Asks one thing at a steady pace on a connection of its own.
class prober {
public:
    prober(boost::asio::io_context& context, const boost::asio::ip::tcp::endpoint& server, std::string request,
           double hz, tally& counts);
    void start();
    void stop() noexcept { stopped_ = true; }

private:
    void wait();

    client client_;
    std::string request_;
    std::chrono::duration<double> interval_;
    tally& counts_;
    boost::asio::steady_timer timer_;
    bool stopped_ = false;
};

/// Connections that ask once and then stay open.
class idlers {
public:
    idlers(boost::asio::io_context& context, const boost::asio::ip::tcp::endpoint& server, std::size_t count,
           std::string request);
    /// Opens them a few at a time and calls `ready` when all have their answers.
    void start(std::function<void()> ready);
    std::size_t failed() const noexcept { return failed_; }

private:
    void open_next();

    std::vector<std::unique_ptr<client>> clients_;
    std::string request_;
    std::function<void()> ready_;
    std::size_t opened_ = 0;
    std::size_t answered_ = 0;
    std::size_t failed_ = 0;
};

}  // namespace load
