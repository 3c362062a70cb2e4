#include "core/inflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "core/ascii_case.hpp"

namespace asio_infer {

namespace {

constexpr std::size_t first_size = 16 * 1024;

error bad_body(body_coding coding, const std::string& what) {
    const char* const name = coding == body_coding::gzip ? "gzip" : "deflate";
    return {errc::invalid_request,
            std::string("the body is not what Content-Encoding says: ") + name + " data " + what};
}

/// The expanded bytes: grows as they come, to one more than the limit at most, which shows that there are more.
class expanded_bytes {
public:
    expanded_bytes(std::size_t limit, std::size_t aligned_at, byte_lease& lease) noexcept
        : limit_(limit), aligned_at_(aligned_at), lease_(lease) {}

    /// Room for more; none if the budget has no bytes for it.
    std::span<std::byte> room() {
        if (size_ == memory_.size() && !grow()) return {};
        return memory_.bytes().subspan(size_);
    }
    void add(std::size_t n) noexcept { size_ += n; }
    bool over_limit() const noexcept { return size_ > limit_; }
    buffer share() && {
        memory_.truncate(size_);
        lease_.resize(size_);
        return std::move(memory_).share();
    }

private:
    bool grow() {
        const std::size_t most = limit_ == std::numeric_limits<std::size_t>::max() ? limit_ : limit_ + 1;
        const std::size_t wanted = std::min(most, std::max(first_size, 2 * memory_.size()));
        if (!lease_.resize(wanted)) return false;
        unique_buffer larger(wanted, aligned_at_);
        if (size_ > 0) std::memcpy(larger.data(), memory_.data(), size_);
        memory_ = std::move(larger);
        return true;
    }

    const std::size_t limit_;
    const std::size_t aligned_at_;
    byte_lease& lease_;
    unique_buffer memory_;
    std::size_t size_ = 0;
};

/// zlib's expander over the whole of a coded body.
class inflater {
public:
    inflater(std::span<const std::byte> coded, body_coding coding) : rest_(coded) {
        constexpr int window = 15;
        constexpr int gzip_frame = 16;
        if (inflateInit2(&stream_, coding == body_coding::gzip ? window + gzip_frame : window) != Z_OK)
            throw std::bad_alloc();
    }
    ~inflater() { inflateEnd(&stream_); }
    inflater(const inflater&) = delete;
    inflater& operator=(const inflater&) = delete;

    /// Expands into `room`, which is not empty; returns zlib's status, and how many bytes it wrote.
    int step(std::span<std::byte> room, std::size_t& written) noexcept {
        constexpr std::size_t most = std::numeric_limits<uInt>::max();
        const std::size_t given = std::min(rest_.size(), most);
        const std::size_t size = std::min(room.size(), most);
        // zlib does not write to its input.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
        stream_.avail_in = static_cast<uInt>(given);
        stream_.next_out = reinterpret_cast<Bytef*>(room.data());
        stream_.avail_out = static_cast<uInt>(size);
        const int status = inflate(&stream_, Z_NO_FLUSH);
        rest_ = rest_.subspan(given - stream_.avail_in);
        written = size - stream_.avail_out;
        return status;
    }
    bool next_member() noexcept { return inflateReset(&stream_) == Z_OK; }
    bool at_end() const noexcept { return rest_.empty(); }
    const char* complaint() const noexcept { return stream_.msg != nullptr ? stream_.msg : "it needs a dictionary"; }

private:
    std::span<const std::byte> rest_;
    z_stream stream_{};
};

}  // namespace

std::optional<body_coding> parse_body_coding(std::string_view content_encoding) noexcept {
    if (content_encoding.empty() || equal_ignoring_case(content_encoding, "identity")) return body_coding::identity;
    if (equal_ignoring_case(content_encoding, "gzip") || equal_ignoring_case(content_encoding, "x-gzip"))
        return body_coding::gzip;
    if (equal_ignoring_case(content_encoding, "deflate")) return body_coding::deflate;
    return std::nullopt;
}

result<buffer> expand_body(std::span<const std::byte> coded, body_coding coding, std::size_t limit,
                           std::size_t aligned_at, byte_lease& lease) {
    expanded_bytes out(limit, aligned_at, lease);
    inflater in(coded, coding);
    for (;;) {
        const std::span<std::byte> room = out.room();
        if (room.empty())
            return error{errc::unavailable, "the bytes of the requests in flight are at their limit; try again"};
        std::size_t written = 0;
        const int status = in.step(room, written);
        out.add(written);
        if (out.over_limit())
            return error{errc::too_large,
                         "the body is over the limit of " + std::to_string(limit) + " bytes once it is expanded"};
        if (status == Z_STREAM_END) {
            if (in.at_end()) return std::move(out).share();
            if (coding != body_coding::gzip) return bad_body(coding, "is followed by other bytes");
            if (!in.next_member()) throw std::bad_alloc();
        } else if (status == Z_MEM_ERROR) {
            throw std::bad_alloc();
        } else if (status == Z_BUF_ERROR || (status == Z_OK && in.at_end() && written < room.size())) {
            return bad_body(coding, "ends early");
        } else if (status != Z_OK) {
            return bad_body(coding, std::string("is damaged (") + in.complaint() + ")");
        }
    }
}

}  // namespace asio_infer
