#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/session.hpp"
#include "protocol/session_context.hpp"

namespace asio_infer {

/// Whether a connection speaks a protocol, as far as its first bytes tell.
enum class claim : std::uint8_t { yes, no, later };

/// A protocol that a connection may speak.
struct protocol_row {
    std::string_view alpn;  ///< its name in TLS (RFC 7301)
    /// Precondition: there is at least one byte.
    claim (*claims)(std::string_view first_bytes) noexcept;
    std::unique_ptr<session> (*make)(const session_context& context, session_host& host, time_point now);
};

/// Best first: clients that offer several in TLS get the first of these, and the first that claims a connection's
/// bytes has it. The last claims everything.
extern const std::array<protocol_row, 2> protocol_table;

/// The session of a new connection: of the protocol that TLS has agreed on, or, for "", of the one that the first
/// bytes will tell. Throws std::bad_alloc.
std::unique_ptr<session> make_session(std::string_view alpn, const session_context& context, session_host& host,
                                      time_point now);

/// Sessions for connections without TLS.
class plain_session_factory final : public session_factory {
public:
    explicit plain_session_factory(const session_context& context) : context_(context) {}
    std::unique_ptr<session> make(session_host& host, time_point now) override {
        return make_session("", context_, host, now);
    }

private:
    const session_context context_;
};

}  // namespace asio_infer
