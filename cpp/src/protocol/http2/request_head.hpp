#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/message.hpp"

namespace asio_infer::http2 {

/// The header of a request as its fields arrive. Which fields may stand in it is nghttp2's to judge (RFC 9113, 8.2 and
/// 8.3); this collects those that later stages read.
class request_head {
public:
    /// `limit`: bytes that all fields may have, counted as in RFC 9113, 6.5.2.
    explicit request_head(std::size_t limit) noexcept : limit_(limit) {}

    void clear() noexcept;
    void add(std::string_view name, std::string_view value);

    bool over_limit() const noexcept { return size_ > limit_; }
    /// Far over the limit: not worth an answer.
    bool hopeless() const noexcept { return size_ / 4 > limit_; }
    bool is_grpc() const noexcept;

    request_message request;
    std::optional<std::uint64_t> content_length;
    bool expects_continue = false;
    bool expects_something_else = false;

private:
    std::size_t limit_;
    std::size_t size_ = 0;
};

}  // namespace asio_infer::http2
