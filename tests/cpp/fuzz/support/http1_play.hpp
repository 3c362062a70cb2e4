#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support/http1_script.hpp"
#include "unit/protocol/http1_fakes.hpp"

namespace asio_infer::fuzz {

/// The limits of a play with these settings.
limits limits_of(const http1_script& script);

/// A session in the middle of a peer, a socket, a clock and a handler that do what a script says. It calls the session
/// as net/connection does: a read is open until its bytes come, every call is followed by a try to send, and after the
/// end nothing but answers comes. Rules that hold at any moment are checked on the way.
class http1_play {
public:
    explicit http1_play(const http1_script& script);

    /// All the events of the script.
    void run();
    /// One read of `most` bytes or fewer; false if the session wants none or there are none.
    bool read(std::size_t most);
    /// Whatever is left comes: bytes, answers, room to send. Ends when nothing moves any more.
    void settle();

    const testing::fake_handler& handler() const noexcept { return fixture_.handler; }
    const std::string& output() const noexcept { return fixture_.output; }
    /// The connection came to an end that may cut what was to be sent.
    bool cut() const noexcept { return gone_; }
    /// A limit that counts bytes in flight was met, so that more depends on time than on bytes.
    bool met_budget() const noexcept;
    /// A request was refused for what it is.
    bool refused_for_good() const noexcept;

private:
    void play(http1_event event);
    void begin_read();
    void answer(std::size_t index, unsigned amount);
    void pass_time(unsigned amount);
    void end_peer(bool gone);
    void stop(unsigned how);
    void take_budget();
    void give_budget_back();
    void after_call();
    void flush();
    void check_now();

    const http1_script& script_;
    testing::session_fixture fixture_;
    session& session_;
    std::string_view stream_;       ///< what the peer has not sent yet
    std::span<std::byte> reading_;  ///< an open read's memory
    std::size_t room_ = 0;          ///< what the socket still takes
    std::size_t taken_ = 0;         ///< of the budget, by others
    bool blocked_ = false;          ///< it took nothing: the connection waits
    bool closed_ = false;           ///< by the connection, when the session was over
    bool gone_ = false;
    std::size_t seen_at_refusal_ = npos;

    static constexpr std::size_t npos = static_cast<std::size_t>(-1);
};

/// What holds for the end of any play: as many answers as requests, in their order, well-formed.
void check_answers(const http1_play& play);

}  // namespace asio_infer::fuzz
