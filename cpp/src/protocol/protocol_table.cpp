#include "protocol/protocol_table.hpp"

#include "protocol/first_bytes_session.hpp"
#include "protocol/http1/http1_session.hpp"
#include "protocol/http2/http2_session.hpp"

namespace asio_infer {

namespace {

claim claim_all(std::string_view) noexcept { return claim::yes; }

template <class Session>
std::unique_ptr<session> make_one(const session_context& context, session_host& host, time_point now) {
    return std::make_unique<Session>(context, host, now);
}

}  // namespace

const std::array<protocol_row, 2> protocol_table{{
    {"h2", &http2::claims_http2, &make_one<http2::http2_session>},
    {"http/1.1", &claim_all, &make_one<http1::http1_session>},
}};

std::unique_ptr<session> make_session(std::string_view alpn, const session_context& context, session_host& host,
                                      time_point now) {
    for (const protocol_row& row : protocol_table)
        if (row.alpn == alpn) return row.make(context, host, now);
    return std::make_unique<first_bytes_session>(context, host, now);
}

}  // namespace asio_infer
