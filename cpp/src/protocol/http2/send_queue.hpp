#pragma once

#include <asio_infer/tensor.hpp>
#include <cstddef>
#include <deque>
#include <span>
#include <string>

namespace asio_infer::http2 {

/// Bytes on their way to the socket, in order. Short pieces are copied behind each other, long ones leave from where
/// they are and are kept until then.
class send_queue {
public:
    void append(std::span<const std::byte> bytes);
    void append(const buffer& bytes);
    void append(std::string&& bytes);
    /// Moves the first n bytes to the end of `to`. Precondition: n <= size().
    void move_to(send_queue& to, std::size_t n);
    /// Shows the bytes, in order; returns the number of entries filled.
    std::size_t to_send(std::span<std::span<const std::byte>> out) const noexcept;
    void sent(std::size_t n) noexcept;
    std::size_t size() const noexcept { return size_; }
    void clear() noexcept;

private:
    struct piece {
        std::string text;  ///< used where `shared` is empty
        buffer shared;

        std::span<const std::byte> bytes() const noexcept {
            return shared.size() > 0 ? shared.bytes() : std::as_bytes(std::span(text));
        }
    };

    std::string& text();
    void drop_front() noexcept;

    std::deque<piece> pieces_;
    std::string spare_;      ///< memory of a text that has left
    std::size_t begin_ = 0;  ///< of the first piece, what has left already
    std::size_t size_ = 0;   ///< all that waits
};

}  // namespace asio_infer::http2
