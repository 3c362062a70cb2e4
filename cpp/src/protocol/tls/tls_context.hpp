#pragma once

#include <array>
#include <asio_infer/error.hpp>
#include <asio_infer/infer.hpp>
#include <asio_infer/log.hpp>
#include <asio_infer/options.hpp>
#include <cstdint>
#include <memory>
#include <mutex>

struct ssl_ctx_st;

namespace asio_infer::tls {

/// A server's certificate, key and rules, as new connections use them. Immutable, thread-safe.
using context_ptr = std::shared_ptr<ssl_ctx_st>;

/// Reads the files: TLS 1.2 and newer, ciphers with forward secrecy, no compression, no renegotiation. invalid_request
/// with the name of the file that is wrong, and what is wrong with it.
result<context_ptr> load_context(const tls_options& options);

/// The credentials in use. With tls_options::reload the files are looked at when a connection comes, once a second at
/// the most; when they have changed, connections that come later get the new ones. New files that are wrong leave the
/// old ones in use and are logged. Thread-safe.
class credentials {
public:
    /// Throws asio_infer::exception as load_context fails.
    credentials(const tls_options& options, log_sink& log);

    context_ptr current(time_point now);

private:
    /// What tells a file from its successor.
    struct version {
        std::int64_t changed = 0;
        std::uintmax_t size = 0;
        bool operator==(const version&) const = default;
    };
    using versions = std::array<version, 3>;

    versions look() const noexcept;
    void reload();

    const tls_options options_;
    log_sink& log_;
    std::mutex mutex_;  ///< guards all below
    context_ptr context_;
    versions seen_;
    time_point next_look_{};
};

}  // namespace asio_infer::tls
