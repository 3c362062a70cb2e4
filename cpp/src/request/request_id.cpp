#include "request/request_id.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <random>

namespace asio_infer {

namespace {

/// The finaliser of SplitMix64: a bijection that spreads each bit over all.
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// Two SplitMix64 sequences with random starts; one of each thread's own.
class id_source {
public:
    id_source() noexcept : high_(seed(this)), low_(seed(&low_)) {}
    std::array<std::uint64_t, 2> next() noexcept {
        high_ += 0x9e3779b97f4a7c15u;
        low_ += 0xd1342543de82ef95u;
        return {mix(high_), mix(low_)};
    }

private:
    static std::uint64_t seed(const void* place) noexcept {
        try {
            std::random_device device;
            return std::uint64_t{device()} << 32 | device();
        } catch (const std::exception&) {
            // No source of randomness: time and place still tell threads and processes apart.
            const auto ticks = std::chrono::system_clock::now().time_since_epoch().count();
            return mix(static_cast<std::uint64_t>(ticks) ^ reinterpret_cast<std::uintptr_t>(place));
        }
    }

    std::uint64_t high_;
    std::uint64_t low_;
};

void make_request_id(std::string& out) {
    static thread_local id_source source;
    static constexpr char digits[] = "0123456789abcdef";
    std::array<char, 32> text;
    std::size_t at = 0;
    for (std::uint64_t word : source.next()) {
        for (int i = 0; i < 16; ++i, word <<= 4) text[at++] = digits[word >> 60];
    }
    out.assign(text.data(), text.size());
}

}  // namespace

bool is_usable_request_id(std::string_view id) noexcept {
    if (id.empty() || id.size() > 128) return false;
    for (const char c : id) {
        if (c < '!' || c > '~') return false;
    }
    return true;
}

void choose_request_id(std::string_view from_client, std::string& out) {
    if (is_usable_request_id(from_client)) {
        out.assign(from_client);
    } else {
        make_request_id(out);
    }
}

}  // namespace asio_infer
