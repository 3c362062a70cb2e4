#pragma once

#include <cstdint>
#include <string_view>

namespace asio_infer::fuzz {

/// One thing that happens to a session, and how much of it. A byte of the input: three bits and five.
struct http1_event {
    enum class kind : std::uint8_t {
        read,          ///< the peer's next bytes arrive: (amount + 1) squared at most
        begin_read,    ///< the connection waits for bytes, into memory that the session must keep meanwhile
        answer,        ///< the handler answers one of its requests, which amount chooses
        make_room,     ///< the socket takes 32 * amount more bytes; 31: without an end
        switch_reply,  ///< from now on the handler answers at once, or no longer
        pass_time,     ///< the clock goes on by 2^amount ms, or to the deadline (31)
        end_peer,      ///< below 16 the peer closes its sending side, from 16 on it is gone
        stop,  ///< by eights: the server retires; others take what is left of the budget, or give it back; it drains
    };
    kind what;
    unsigned amount;

    static http1_event of(std::uint8_t byte) noexcept { return {static_cast<kind>(byte >> 5), byte & 31U}; }
    /// It may change which requests are taken: a peer that leaves, or the clock.
    bool disturbs() const noexcept { return what >= kind::pass_time; }
};

/// What an input of the target means: a byte of settings, the number of events, the events, the peer's bytes.
struct http1_script {
    std::uint8_t settings = 0;
    std::string_view events;
    std::string_view stream;

    static constexpr std::uint8_t tight_limits = 1;    ///< a handful of bytes is too many
    static constexpr std::uint8_t answers_late = 2;    ///< the handler does not answer inside its call
    static constexpr std::uint8_t slow_peer = 4;       ///< the socket takes nothing until make_room
    static constexpr std::uint8_t ends_on_cancel = 8;  ///< a cancelled request completes inside the call

    bool has(std::uint8_t setting) const noexcept { return (settings & setting) != 0; }
    bool disturbs() const noexcept {
        for (const char byte : events)
            if (http1_event::of(static_cast<std::uint8_t>(byte)).disturbs()) return true;
        return false;
    }

    static http1_script of(std::string_view bytes) noexcept {
        http1_script script;
        if (bytes.empty()) return script;
        script.settings = static_cast<std::uint8_t>(bytes.front());
        bytes.remove_prefix(1);
        if (bytes.empty()) return script;
        const std::size_t count = static_cast<std::uint8_t>(bytes.front());
        bytes.remove_prefix(1);
        script.events = bytes.substr(0, count);
        script.stream = bytes.substr(script.events.size());
        return script;
    }
};

}  // namespace asio_infer::fuzz
