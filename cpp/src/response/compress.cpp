#include "response/compress.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "response/accept_encoding.hpp"

namespace asio_infer {
namespace {

constexpr std::size_t smallest_worth_it = 1024;  // bytes
constexpr int level = 1;  // JSON numbers gain little from more, and it costs several times the CPU

bool eligible(const response_message& response, bool binary_too) noexcept {
    if (!response.content_encoding.empty() || response.body_size() <= smallest_worth_it) return false;
    const bool json = !response.json_length && response.content_type == "application/json";
    return json || (binary_too && (response.json_length || response.content_type == "application/grpc"));
}

/// zlib's compressor, fed piece by piece.
class deflater {
public:
    explicit deflater(content_coding coding) noexcept {
        constexpr int window = 15;
        constexpr int gzip_frame = 16;
        const int bits = coding == content_coding::gzip ? window + gzip_frame : window;
        ready_ = deflateInit2(&stream_, level, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    }
    ~deflater() {
        if (ready_) deflateEnd(&stream_);
    }
    deflater(const deflater&) = delete;
    deflater& operator=(const deflater&) = delete;

    bool ready() const noexcept { return ready_; }
    void add(std::span<const std::byte> piece, std::string& out) {
        constexpr std::size_t most = std::numeric_limits<uInt>::max();
        while (!piece.empty()) {
            const std::size_t size = std::min(piece.size(), most);
            run(piece.first(size), Z_NO_FLUSH, out);
            piece = piece.subspan(size);
        }
    }
    void finish(std::string& out) { run({}, Z_FINISH, out); }

private:
    void run(std::span<const std::byte> in, int flush, std::string& out) {
        // zlib does not write to its input.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
        stream_.avail_in = static_cast<uInt>(in.size());
        char chunk[8192];
        do {
            stream_.next_out = reinterpret_cast<Bytef*>(chunk);
            stream_.avail_out = sizeof chunk;
            deflate(&stream_, flush);
            out.append(chunk, sizeof chunk - stream_.avail_out);
        } while (stream_.avail_out == 0);
    }

    z_stream stream_{};
    bool ready_ = false;
};

}  // namespace

bool compress_body(response_message& response, std::string_view accept_encoding, bool binary_too) {
    if (accept_encoding.empty() || !eligible(response, binary_too)) return false;
    const content_coding coding = choose_coding(accept_encoding);
    if (coding == content_coding::identity) return false;
    deflater compressor(coding);
    if (!compressor.ready()) return false;
    std::string coded;
    compressor.add(std::as_bytes(std::span(response.text)), coded);
    for (const buffer& part : response.parts) compressor.add(part.bytes(), coded);
    compressor.finish(coded);
    if (coded.size() >= response.body_size()) return false;
    response.text = std::move(coded);
    response.parts.clear();
    response.content_encoding = coding == content_coding::gzip ? "gzip" : "deflate";
    return true;
}

}  // namespace asio_infer
