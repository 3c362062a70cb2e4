#include "protocol/tls/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "protocol/protocol_table.hpp"

namespace asio_infer::tls {

namespace {

constexpr std::chrono::seconds look_interval{1};

/// OpenSSL's own words for what went wrong last.
std::string reason() {
    const unsigned long code = ERR_peek_last_error();
    const char* const text = code != 0 ? ERR_reason_error_string(code) : nullptr;
    ERR_clear_error();
    return text != nullptr ? text : "unknown reason";
}

error bad_file(std::string_view what, const std::string& path, const std::string& why) {
    return {errc::invalid_request, "TLS " + std::string(what) + " '" + path + "': " + why};
}

/// A key with a passphrase is an error, not a question on the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

result<void> check_readable(std::string_view what, const std::string& path) {
    std::error_code ec;
    if (!std::filesystem::is_regular_file(path, ec)) return bad_file(what, path, "there is no such file");
    return {};
}

result<void> load_certificate(SSL_CTX* context, const tls_options& options) {
    if (const result<void> there = check_readable("certificate", options.certificate); there.has_error()) return there;
    if (SSL_CTX_use_certificate_chain_file(context, options.certificate.c_str()) != 1)
        return bad_file("certificate", options.certificate, "holds no certificate in PEM form (" + reason() + ")");
    return {};
}

result<void> load_key(SSL_CTX* context, const tls_options& options) {
    if (const result<void> there = check_readable("key", options.key); there.has_error()) return there;
    if (SSL_CTX_use_PrivateKey_file(context, options.key.c_str(), SSL_FILETYPE_PEM) != 1) {
        const std::string why = reason();
        if (why.find("values mismatch") != std::string::npos)
            return bad_file("key", options.key, "does not belong to the certificate '" + options.certificate + "'");
        return bad_file("key", options.key, "holds no private key in PEM form without a passphrase (" + why + ")");
    }
    if (SSL_CTX_check_private_key(context) != 1)
        return bad_file("key", options.key, "does not belong to the certificate '" + options.certificate + "'");
    return {};
}

result<void> load_client_ca(SSL_CTX* context, const tls_options& options) {
    if (options.client_ca.empty()) return {};
    const std::string& path = options.client_ca;
    if (const result<void> there = check_readable("client_ca", path); there.has_error()) return there;
    if (SSL_CTX_load_verify_locations(context, path.c_str(), nullptr) != 1)
        return bad_file("client_ca", path, "holds no certificate in PEM form (" + reason() + ")");
    SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(path.c_str()));
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    return {};
}

bool offers(std::string_view offered, std::string_view wanted) noexcept {
    for (std::size_t at = 0; at < offered.size();) {
        const auto size = static_cast<unsigned char>(offered[at]);
        if (offered.substr(at + 1, size) == wanted) return true;
        at += 1U + size;
    }
    return false;
}

/// The best protocol that the client offers; with none in common the handshake fails (RFC 7301, 3.2).
int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                    unsigned int in_size, void*) {
    const std::string_view offered{reinterpret_cast<const char*>(in), in_size};
    for (const protocol_row& row : protocol_table) {
        if (!offers(offered, row.alpn)) continue;
        *out = reinterpret_cast<const unsigned char*>(row.alpn.data());
        *out_size = static_cast<unsigned char>(row.alpn.size());
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

void set_rules(SSL_CTX* context) {
    static constexpr unsigned char sessions_of[] = "asio_infer";
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20");  // of TLS 1.2; those of 1.3 are all good
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                     SSL_OP_PRIORITIZE_CHACHA | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context,
                     SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_id_context(context, sessions_of, sizeof sessions_of - 1);
    SSL_CTX_set_default_passwd_cb(context, &no_passphrase);
    SSL_CTX_set_alpn_select_cb(context, &choose_protocol, nullptr);
}

}  // namespace

result<context_ptr> load_context(const tls_options& options) {
    ERR_clear_error();
    context_ptr context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
    if (!context) throw std::bad_alloc();
    set_rules(context.get());
    for (const auto load : {&load_certificate, &load_key, &load_client_ca})
        if (const result<void> loaded = load(context.get(), options); loaded.has_error()) return loaded.error();
    return context;
}

credentials::credentials(const tls_options& options, log_sink& log) : options_(options), log_(log), seen_(look()) {
    const result<context_ptr> loaded = load_context(options_);
    if (loaded.has_error()) throw exception(loaded.error());
    context_ = *loaded;
}

context_ptr credentials::current(time_point now) {
    const std::lock_guard lock(mutex_);
    if (options_.reload && now >= next_look_) {
        next_look_ = now + look_interval;
        if (const versions there = look(); there != seen_) {
            seen_ = there;
            reload();
        }
    }
    return context_;
}

credentials::versions credentials::look() const noexcept {
    versions found;
    std::size_t i = 0;
    for (const std::string* path : {&options_.certificate, &options_.key, &options_.client_ca}) {
        version& each = found[i++];
        std::error_code ec;
        const auto changed = std::filesystem::last_write_time(*path, ec);
        if (!ec) each.changed = changed.time_since_epoch().count();
        each.size = std::filesystem::file_size(*path, ec);
    }
    return found;
}

/// A pair of files is replaced one after the other: in between they do not match, which is logged as a warning, and the
/// second change brings both.
void credentials::reload() {
    const result<context_ptr> loaded = load_context(options_);
    if (loaded.has_error()) {
        log_.write(log_level::warning, "the changed TLS files are not used",
                   {{"reason", std::string_view(loaded.error().message)}});
        return;
    }
    context_ = *loaded;
    log_.write(log_level::info, "TLS files loaded again", {{"certificate", std::string_view(options_.certificate)}});
}

}  // namespace asio_infer::tls
