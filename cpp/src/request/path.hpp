#pragma once

#include <array>
#include <asio_infer/error.hpp>
#include <cstddef>
#include <string>
#include <string_view>

namespace asio_infer {

/// The segments of a request target, each percent-decoded once: an encoded slash stays inside its segment, and what
/// decoding gives is not decoded again. The query is left out, and so is one slash at the end ("/v2/" is "/v2"). "."
/// and ".." have no meaning here.
///
/// The segments point into the target or into this object, so it does not move and the target must outlive it.
class request_path {
public:
    /// The most segments that any route has.
    static constexpr std::size_t max_segments = 6;

    request_path() = default;
    request_path(const request_path&) = delete;
    request_path& operator=(const request_path&) = delete;

    /// Takes the origin form ("/v2?x=1") and the absolute form ("http://host/v2"). invalid_request for anything else,
    /// for an escape that is none and for an encoded NUL. Throws std::bad_alloc.
    result<void> parse(std::string_view target);

    /// How many segments the target has: more than `max_segments` is possible, of which only the first are kept.
    std::size_t size() const noexcept { return size_; }
    /// Precondition: index < min(size(), max_segments). Empty between two slashes.
    std::string_view operator[](std::size_t index) const noexcept { return segments_[index]; }

private:
    result<void> add(std::string_view raw, std::size_t longest);
    /// Appends the decoded bytes to `decoded_`.
    result<std::string_view> decode(std::string_view raw);

    std::array<std::string_view, max_segments> segments_;
    std::size_t size_ = 0;
    std::string decoded_;  ///< of the segments with escapes; reserved once, so that views into it stay valid
};

}  // namespace asio_infer
