#pragma once

#include <array>
#include <asio_infer/error.hpp>
#include <asio_infer/options.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.hpp"

namespace asio_infer {

/// What a request does, and what a key may do.
enum class scope : std::uint8_t {
    read = 1,     ///< health, metadata, configuration, statistics, metrics
    infer = 2,    ///< inference
    control = 4,  ///< what changes the server: shared memory
};

/// A caller that the server knows.
struct api_key {
    std::string name;
    std::array<unsigned char, 32> hash;  ///< SHA-256 of the token
    std::uint8_t scopes = 0;
    std::vector<std::string> models;  ///< patterns of the names it may use; empty: all

    bool sees(std::string_view model) const noexcept;
    bool all_models() const noexcept { return models.empty(); }
    /// Whether it may do this, with this model where `model` is not "". permission_denied says no, in the same words
    /// whether the model exists or not.
    result<void> may(scope what, std::string_view model) const;
};

/// A caller that a server without keys lets do everything is null.
using caller = const api_key*;

inline result<void> check_access(caller who, scope what, std::string_view model) {
    return who == nullptr ? result<void>{} : who->may(what, model);
}
inline bool sees(caller who, std::string_view model) noexcept { return who == nullptr || who->sees(model); }

/// The keys of a server. Immutable, thread-safe.
class key_ring {
public:
    /// Throws asio_infer::exception: invalid_request for a hash that is none, two keys with one hash or too many keys.
    explicit key_ring(const auth_options& options);

    /// The key with this token, or null. Takes the same time whichever it is: all are compared.
    const api_key* find(std::string_view token) const noexcept;
    /// Whose request this is, by its header `Authorization: Bearer TOKEN` (RFC 6750, 2.1). unauthenticated if it has
    /// none, several, another kind, or a token that is nobody's.
    result<caller> authenticate(const header_values& headers) const;
    bool public_liveness() const noexcept { return public_liveness_; }

private:
    static constexpr std::size_t most_keys = 1'000;

    std::vector<api_key> keys_;
    bool public_liveness_;
};

/// Whether the name has the form of a pattern, in which "*" stands for any text and "?" for one byte.
bool matches_pattern(std::string_view pattern, std::string_view name) noexcept;

}  // namespace asio_infer
