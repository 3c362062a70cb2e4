#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/progress_limit.hpp"
#include "core/session.hpp"
#include "protocol/session_context.hpp"
#include "protocol/tls/tls_context.hpp"

struct ssl_st;
struct bio_st;

namespace asio_infer::tls {

/// TLS around another session: the connection's bytes are deciphered for it, and what it sends is enciphered. Which
/// protocol it is, ALPN decides in the handshake (RFC 7301), or the first bytes where the client offers nothing.
///
/// OpenSSL works on memory only. What waits in enciphered form is bounded; what the inner session does not want to read
/// yet is not read from the connection.
class tls_session final : public session, private session_host {
public:
    tls_session(const session_context& context, const context_ptr& credentials, session_host& host, time_point now);
    ~tls_session() override;

    std::span<std::byte> prepare() override;
    void received(std::size_t n, time_point now) noexcept override;
    void peer_finished(time_point now) noexcept override;
    void peer_gone() noexcept override;
    std::size_t to_send(std::span<std::span<const std::byte>> out) noexcept override;
    void sent(std::size_t n, time_point now) noexcept override;
    time_point deadline() const noexcept override;
    void deadline_passed(time_point now) noexcept override;
    void retire(time_point now) noexcept override;
    void drain(time_point now) noexcept override;
    bool send_side_over() const noexcept override;
    bool over() const noexcept override;
    bool quiet() const noexcept override { return !inner_ || inner_->quiet(); }

private:
    task_executor& home() noexcept override { return host_.home(); }
    time_point now() const noexcept override { return host_.now(); }
    void session_changed() noexcept override { host_.session_changed(); }
    void become(std::unique_ptr<session> next) noexcept override { next_inner_ = std::move(next); }

    bool refused_as_plain(std::span<const std::byte> first) noexcept;
    bool shake_hands();
    void decipher();
    bool inner_reads() noexcept;
    void take_successor() noexcept;
    void encipher() noexcept;
    bool write(std::span<const std::byte> bytes) noexcept;
    void forget_sent(bool all) noexcept;
    void say_goodbye() noexcept;
    void fail() noexcept;
    std::span<const std::byte> waiting() const noexcept;
    bool inner_over() const noexcept { return inner_ && inner_->over(); }

    const session_context& context_;
    session_host& host_;
    ssl_st* ssl_ = nullptr;
    bio_st* from_peer_ = nullptr;  ///< owned by ssl_
    bio_st* to_peer_ = nullptr;    ///< owned by ssl_
    std::vector<std::byte> in_;
    std::unique_ptr<session> inner_;  ///< from the handshake on
    std::unique_ptr<session> next_inner_;
    std::string_view refusal_;  ///< what is sent in the clear to a peer that does not speak TLS
    std::size_t sent_ = 0;      ///< of what waits, or of the refusal
    time_point now_;
    time_point handshake_deadline_;
    progress_limit write_progress_;
    bool begun_ = false;          ///< something has come
    bool held_back_ = false;      ///< the inner session does not want what has come
    bool peer_finished_ = false;  ///< the connection has ended on the peer's side
    bool finish_told_ = false;    ///< and the inner session knows
    bool goodbye_said_ = false;
    bool failed_ = false;  ///< what waits, an alert, is the last
    bool retiring_ = false;
    bool dead_ = false;
};

/// Sessions for connections with TLS.
class tls_session_factory final : public session_factory {
public:
    /// Throws asio_infer::exception if the files are wrong.
    tls_session_factory(const session_context& context, const tls_options& options, log_sink& log)
        : context_(context), credentials_(options, log) {}
    std::unique_ptr<session> make(session_host& host, time_point now) override {
        return std::make_unique<tls_session>(context_, credentials_.current(now), host, now);
    }

private:
    const session_context context_;
    credentials credentials_;
};

}  // namespace asio_infer::tls
