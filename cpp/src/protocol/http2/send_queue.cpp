#include "protocol/http2/send_queue.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace asio_infer::http2 {

namespace {
/// Below this a copy is cheaper than another entry in the list of buffers.
constexpr std::size_t copy_limit = 4 * 1024;
constexpr std::size_t kept_text = 64 * 1024;  ///< what an idle connection may hold on to
}  // namespace

void send_queue::append(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    text().append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    size_ += bytes.size();
}

void send_queue::append(const buffer& bytes) {
    if (bytes.size() < copy_limit) return append(bytes.bytes());
    pieces_.push_back({{}, bytes});
    size_ += bytes.size();
}

void send_queue::append(std::string&& bytes) {
    if (bytes.size() < copy_limit) return append(std::as_bytes(std::span(bytes)));
    const auto owner = std::make_shared<const std::string>(std::move(bytes));
    append(buffer(owner, std::as_bytes(std::span(*owner))));
}

void send_queue::move_to(send_queue& to, std::size_t n) {
    while (n > 0) {
        const piece& front = pieces_.front();
        const std::size_t part = std::min(n, front.bytes().size() - begin_);
        if (front.shared.size() > 0)
            to.append(front.shared.slice(begin_, part));
        else
            to.append(front.bytes().subspan(begin_, part));
        sent(part);
        n -= part;
    }
}

/// The text that more can be added to.
std::string& send_queue::text() {
    if (pieces_.empty() || pieces_.back().shared.size() > 0) pieces_.push_back({std::exchange(spare_, {}), {}});
    return pieces_.back().text;
}

std::size_t send_queue::to_send(std::span<std::span<const std::byte>> out) const noexcept {
    std::size_t filled = 0;
    std::size_t skip = begin_;
    for (const piece& each : pieces_) {
        if (filled == out.size()) break;
        out[filled++] = each.bytes().subspan(skip);
        skip = 0;
    }
    return filled;
}

void send_queue::sent(std::size_t n) noexcept {
    size_ -= n;
    begin_ += n;
    while (!pieces_.empty() && begin_ >= pieces_.front().bytes().size()) {
        begin_ -= pieces_.front().bytes().size();
        drop_front();
    }
}

void send_queue::drop_front() noexcept {
    std::string& text = pieces_.front().text;
    if (text.capacity() > spare_.capacity() && text.capacity() <= kept_text) {
        spare_ = std::move(text);
        spare_.clear();
    }
    pieces_.pop_front();
}

void send_queue::clear() noexcept {
    pieces_.clear();
    begin_ = size_ = 0;
}

}  // namespace asio_infer::http2
