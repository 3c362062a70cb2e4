#include "protocol/first_bytes_session.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "core/later.hpp"
#include "protocol/protocol_table.hpp"

namespace asio_infer {

namespace {
constexpr std::size_t first_read_size = 4 * 1024;  ///< a small request with its header
}

first_bytes_session::first_bytes_session(const session_context& context, session_host& host, time_point now)
    : context_(context), host_(host), deadline_(later(now, context.bounds.idle_timeout)) {}

std::span<std::byte> first_bytes_session::prepare() {
    if (in_.empty()) in_.resize(first_read_size);
    return std::span(in_).subspan(size_);
}

void first_bytes_session::received(std::size_t n, time_point now) noexcept {
    if (size_ == 0) {
        began_ = now;
        deadline_ = later(now, context_.bounds.header_timeout);
    }
    size_ += n;
    const std::string_view first_bytes{reinterpret_cast<const char*>(in_.data()), size_};
    try {
        for (const protocol_row& row : protocol_table) {
            const claim claimed = row.claims(first_bytes);
            if (claimed == claim::no) continue;
            if (claimed == claim::yes) give_way(row.make(context_, host_, now));
            return;
        }
    } catch (const std::bad_alloc&) {
        over_ = true;
    }
}

/// The next session reads what has come as if it had come with the first byte.
void first_bytes_session::give_way(std::unique_ptr<session> next) {
    if (retiring_) next->retire(began_);
    for (std::size_t done = 0; done < size_ && !next->over();) {
        const std::span<std::byte> room = next->prepare();
        const std::size_t part = std::min(room.size(), size_ - done);
        if (part == 0) break;
        std::memcpy(room.data(), in_.data() + done, part);
        next->received(part, began_);
        done += part;
    }
    host_.become(std::move(next));
}

/// Too few bytes came to tell: the protocol that claims everything says that the header came too slowly.
void first_bytes_session::deadline_passed(time_point now) noexcept {
    if (size_ == 0) {
        over_ = true;
        return;
    }
    try {
        give_way(protocol_table.back().make(context_, host_, now));
    } catch (const std::bad_alloc&) {
        over_ = true;
    }
}

void first_bytes_session::retire(time_point) noexcept { retiring_ = true; }

}  // namespace asio_infer
