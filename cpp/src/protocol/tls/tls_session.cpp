#include "protocol/tls/tls_session.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "core/later.hpp"
#include "protocol/protocol_table.hpp"

namespace asio_infer::tls {

namespace {

constexpr std::size_t first_read_size = 4 * 1024;
constexpr std::size_t read_size = 64 * 1024;
constexpr std::size_t most_waiting = 128 * 1024;  ///< enciphered and not sent
constexpr std::size_t record_size = 16 * 1024;
constexpr std::byte handshake_record{22};
constexpr std::string_view plain_refusal =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 56\r\nConnection: close\r\n\r\n"
    "{\"error\":\"this port speaks TLS only: use https:// here\"}";
static_assert(plain_refusal.size() - plain_refusal.find("\r\n\r\n") - 4 == 56);

}  // namespace

tls_session::tls_session(const session_context& context, const context_ptr& credentials, session_host& host,
                         time_point now)
    : context_(context),
      host_(host),
      now_(now),
      handshake_deadline_(later(now, context.bounds.handshake_timeout)),
      write_progress_(context.bounds.write_progress_timeout, context.bounds.min_bytes_per_s) {
    ssl_ = SSL_new(credentials.get());
    from_peer_ = ssl_ != nullptr ? BIO_new(BIO_s_mem()) : nullptr;
    to_peer_ = from_peer_ != nullptr ? BIO_new(BIO_s_mem()) : nullptr;
    if (to_peer_ == nullptr) {
        BIO_free(from_peer_);
        SSL_free(ssl_);
        throw std::bad_alloc();
    }
    SSL_set_bio(ssl_, from_peer_, to_peer_);
    SSL_set_accept_state(ssl_);
}

tls_session::~tls_session() { SSL_free(ssl_); }

// Reading

std::span<std::byte> tls_session::prepare() {
    if (dead_ || failed_ || peer_finished_) {
        if (held_back_ && !dead_ && !failed_) decipher();
        return {};
    }
    if (held_back_) decipher();
    if (held_back_ || (inner_ && !inner_reads())) return {};
    const std::size_t wanted = inner_ && !inner_->quiet() ? read_size : first_read_size;
    if (in_.size() != wanted) in_ = std::vector<std::byte>(wanted);
    return in_;
}

void tls_session::received(std::size_t n, time_point now) noexcept {
    now_ = now;
    const std::span<const std::byte> bytes(in_.data(), n);
    if (!std::exchange(begun_, true) && refused_as_plain(bytes)) return;
    if (failed_) return;
    try {
        if (BIO_write(from_peer_, bytes.data(), static_cast<int>(n)) != static_cast<int>(n)) throw std::bad_alloc();
        if (!inner_ && !shake_hands()) return;
        decipher();
    } catch (const std::bad_alloc&) {
        peer_gone();
    }
}

/// A client that speaks plain HTTP here is told so in a form that it can read.
bool tls_session::refused_as_plain(std::span<const std::byte> first) noexcept {
    if (first.empty() || first[0] == handshake_record) return false;
    const auto letter = static_cast<char>(first[0]);
    if (letter >= 'A' && letter <= 'Z') refusal_ = plain_refusal;
    fail();
    return true;
}

bool tls_session::shake_hands() {
    ERR_clear_error();
    const int status = SSL_do_handshake(ssl_);
    if (status != 1) {
        const int why = SSL_get_error(ssl_, status);
        ERR_clear_error();
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) fail();
        return false;
    }
    handshake_deadline_ = no_deadline;
    const unsigned char* chosen = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(ssl_, &chosen, &size);
    inner_ = make_session({reinterpret_cast<const char*>(chosen), size}, context_, *this, now_);
    if (retiring_) inner_->retire(now_);
    return true;
}

bool tls_session::inner_reads() noexcept {
    try {
        return !inner_->prepare().empty();
    } catch (const std::bad_alloc&) {
        peer_gone();
        return false;
    }
}

/// Gives the inner session what has come, as far as it wants it.
void tls_session::decipher() {
    held_back_ = false;
    while (inner_ && !dead_ && !inner_->over()) {
        const std::span<std::byte> room = inner_->prepare();
        if (inner_->over()) return;
        if (room.empty()) {
            held_back_ = SSL_pending(ssl_) > 0 || BIO_ctrl_pending(from_peer_) > 0;
            break;
        }
        ERR_clear_error();
        const int n = SSL_read(ssl_, room.data(), static_cast<int>(std::min(room.size(), read_size)));
        if (n <= 0) {
            const int why = SSL_get_error(ssl_, n);
            ERR_clear_error();
            if (why == SSL_ERROR_ZERO_RETURN)
                peer_finished(now_);
            else if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
                fail();
            break;
        }
        inner_->received(static_cast<std::size_t>(n), now_);
        take_successor();
    }
    if (peer_finished_ && !held_back_ && inner_ && !dead_ && !std::exchange(finish_told_, true))
        inner_->peer_finished(now_);
}

void tls_session::take_successor() noexcept {
    if (next_inner_) inner_ = std::move(next_inner_);
}

/// Half a request that a cut connection leaves is dropped by the inner session, with or without a close_notify.
void tls_session::peer_finished(time_point now) noexcept {
    now_ = now;
    peer_finished_ = true;
    if (!inner_) {
        dead_ = true;
        return;
    }
    if (!held_back_ && !std::exchange(finish_told_, true)) inner_->peer_finished(now);
}

void tls_session::peer_gone() noexcept {
    if (std::exchange(dead_, true)) return;
    if (inner_) inner_->peer_gone();
}

/// The peer broke the rules: it gets OpenSSL's alert, and nothing more.
void tls_session::fail() noexcept {
    if (std::exchange(failed_, true)) return;
    if (!inner_) context_.stats.tls_failures.fetch_add(1, std::memory_order_relaxed);
    handshake_deadline_ = later(now_, context_.bounds.linger_timeout);  // for the peer to read the alert
    if (inner_) inner_->peer_gone();
}

// Writing

std::span<const std::byte> tls_session::waiting() const noexcept {
    if (!refusal_.empty()) return std::as_bytes(std::span(refusal_)).subspan(sent_);
    char* data = nullptr;
    const long size = BIO_get_mem_data(to_peer_, &data);
    return std::as_bytes(std::span<const char>(data, static_cast<std::size_t>(size))).subspan(sent_);
}

std::size_t tls_session::to_send(std::span<std::span<const std::byte>> out) noexcept {
    if (dead_) return 0;
    encipher();
    const std::span<const std::byte> bytes = waiting();
    if (bytes.empty() || out.empty()) return 0;
    out[0] = bytes;
    return 1;
}

/// Takes what the inner session has to send, a record at a time, while not too much waits. Short pieces share one.
void tls_session::encipher() noexcept {
    static thread_local std::array<std::byte, record_size> record;
    while (inner_ && !failed_ && waiting().size() < most_waiting) {
        std::array<std::span<const std::byte>, 16> pieces;
        const std::size_t count = inner_->to_send(pieces);
        if (count == 0) break;
        std::size_t filled = 0;
        for (std::size_t i = 0; i < count && filled < record.size(); ++i) {
            const std::size_t part = std::min(pieces[i].size(), record.size() - filled);
            std::copy_n(pieces[i].begin(), part, record.begin() + static_cast<std::ptrdiff_t>(filled));
            filled += part;
        }
        if (!write(std::span(record).first(filled))) return fail();
        inner_->sent(filled, now_);
    }
    if (inner_ && inner_->send_side_over()) say_goodbye();
}

/// Memory takes everything, so one call writes one record.
bool tls_session::write(std::span<const std::byte> bytes) noexcept {
    ERR_clear_error();
    while (!bytes.empty()) {
        const int n = SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
        if (n <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
}

void tls_session::say_goodbye() noexcept {
    if (std::exchange(goodbye_said_, true)) return;
    ERR_clear_error();
    SSL_shutdown(ssl_);
}

void tls_session::sent(std::size_t n, time_point now) noexcept {
    now_ = now;
    sent_ += n;
    const bool all = waiting().empty();
    if (refusal_.empty()) forget_sent(all);
    if (all)
        write_progress_.stop();
    else if (!write_progress_.started())
        write_progress_.start(now);
    else if (n > 0)
        write_progress_.moved(n, now);
}

/// The memory keeps what has left until all has, or it is much.
void tls_session::forget_sent(bool all) noexcept {
    constexpr std::size_t much = 1024 * 1024;
    if (all) {
        BIO_reset(to_peer_);
        sent_ = 0;
    }
    std::array<std::byte, 4096> scratch;
    for (bool drop = sent_ >= much; drop && sent_ > 0;)
        sent_ -= static_cast<std::size_t>(
            BIO_read(to_peer_, scratch.data(), static_cast<int>(std::min(scratch.size(), sent_))));
}

// Time and state

time_point tls_session::deadline() const noexcept {
    const time_point inner = inner_ && !failed_ ? inner_->deadline() : no_deadline;
    return std::min({handshake_deadline_, write_progress_.deadline(), inner});
}

void tls_session::deadline_passed(time_point now) noexcept {
    now_ = now;
    if (now >= write_progress_.deadline()) return peer_gone();
    if (now >= handshake_deadline_) {
        if (!inner_ && !failed_) context_.stats.tls_failures.fetch_add(1, std::memory_order_relaxed);
        return peer_gone();
    }
    if (!inner_ || failed_ || now < inner_->deadline()) return;
    inner_->deadline_passed(now);
    take_successor();
}

void tls_session::retire(time_point now) noexcept {
    now_ = now;
    retiring_ = true;
    if (inner_) inner_->retire(now);
}

void tls_session::drain(time_point now) noexcept {
    now_ = now;
    if (inner_)
        inner_->drain(now);
    else
        dead_ = true;
}

bool tls_session::send_side_over() const noexcept {
    if (dead_ || !waiting().empty()) return false;
    return failed_ || (goodbye_said_ && inner_->send_side_over());
}

bool tls_session::over() const noexcept {
    if (dead_) return true;
    return (inner_over() || (failed_ && peer_finished_)) && waiting().empty();
}

}  // namespace asio_infer::tls
