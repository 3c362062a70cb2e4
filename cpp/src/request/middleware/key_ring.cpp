#include "request/middleware/key_ring.hpp"

#include <boost/hash2/sha2.hpp>
#include <optional>

#include "core/ascii_case.hpp"
#include "core/escape.hpp"

namespace asio_infer {

namespace {

using sha256 = std::array<unsigned char, 32>;

sha256 hash_of(std::string_view token) noexcept {
    boost::hash2::sha2_256 hash;
    hash.update(token.data(), token.size());
    const auto digest = hash.result();
    sha256 out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = digest[i];
    return out;
}

std::optional<unsigned char> nibble(char c) noexcept {
    if (c >= '0' && c <= '9') return static_cast<unsigned char>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned char>(c - 'a' + 10);
    return std::nullopt;
}

std::optional<sha256> parse_hash(std::string_view hex) noexcept {
    sha256 out{};
    if (hex.size() != 2 * out.size()) return std::nullopt;
    for (std::size_t i = 0; i < hex.size(); ++i) {
        const std::optional<unsigned char> value = nibble(to_lower(hex[i]));
        if (!value) return std::nullopt;
        out[i / 2] = static_cast<unsigned char>(out[i / 2] << 4 | *value);
    }
    return out;
}

error ask_for_key(const char* why) { return {errc::unauthenticated, why}; }

const char* name_of(scope what) noexcept {
    switch (what) {
        case scope::read:
            return "read";
        case scope::infer:
            return "infer";
        case scope::control:
            return "control";
    }
    return "";
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view name) noexcept {
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t star = std::string_view::npos;  // the last one; what it stands for ends at `mark`
    std::size_t mark = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            mark = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

bool api_key::sees(std::string_view model) const noexcept {
    if (models.empty()) return true;
    for (const std::string& pattern : models)
        if (matches_pattern(pattern, model)) return true;
    return false;
}

result<void> api_key::may(scope what, std::string_view model) const {
    if ((scopes & static_cast<std::uint8_t>(what)) == 0)
        return error{errc::permission_denied,
                     std::string("this key may not do this: it lacks the scope \"") + name_of(what) + '"'};
    if (!model.empty() && !sees(model))
        return error{errc::permission_denied, "this key may not use a model '" + printable(model) + "'"};
    return {};
}

key_ring::key_ring(const auth_options& options) : public_liveness_(options.public_liveness) {
    if (options.keys.size() > most_keys)
        throw exception(errc::invalid_request, "there are " + std::to_string(options.keys.size()) +
                                                   " keys; a server takes " + std::to_string(most_keys));
    for (const key_options& each : options.keys) {
        const std::optional<sha256> hash = parse_hash(each.sha256);
        if (!hash)
            throw exception(errc::invalid_request,
                            "key '" + printable(each.name) + "': its sha256 is not 64 hexadecimal digits");
        for (const api_key& other : keys_)
            if (other.hash == *hash)
                throw exception(errc::invalid_request, "keys '" + printable(other.name) + "' and '" +
                                                           printable(each.name) + "' have one token");
        const unsigned scopes = (each.read ? static_cast<unsigned>(scope::read) : 0U) |
                                (each.infer ? static_cast<unsigned>(scope::infer) : 0U) |
                                (each.control ? static_cast<unsigned>(scope::control) : 0U);
        keys_.push_back({each.name, *hash, static_cast<std::uint8_t>(scopes), each.models});
    }
}

const api_key* key_ring::find(std::string_view token) const noexcept {
    const sha256 wanted = hash_of(token);
    const api_key* found = nullptr;
    for (const api_key& each : keys_) {
        unsigned difference = 0;
        for (std::size_t i = 0; i < wanted.size(); ++i) difference |= static_cast<unsigned>(wanted[i] ^ each.hash[i]);
        if (difference == 0) found = &each;
    }
    return found;
}

result<caller> key_ring::authenticate(const header_values& headers) const {
    constexpr std::string_view scheme = "bearer ";
    if (headers.count(header::authorization) == 0)
        return ask_for_key("a key is needed: send the header \"Authorization: Bearer <key>\"");
    if (headers.count(header::authorization) > 1) return ask_for_key("the header Authorization repeats");
    std::string_view text = headers[header::authorization];
    if (!starts_with_ignoring_case(text, scheme))
        return ask_for_key("the header Authorization is not of the kind \"Bearer <key>\"");
    text.remove_prefix(scheme.size());
    while (text.starts_with(' ')) text.remove_prefix(1);
    const api_key* const found = find(text);
    if (found == nullptr) return ask_for_key("the key is not one of this server's");
    return found;
}

}  // namespace asio_infer
