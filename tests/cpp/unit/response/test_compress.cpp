#include <doctest/doctest.h>
#include <zlib.h>

#include <string>

#include "response/accept_encoding.hpp"
#include "response/compress.hpp"
#include "unit/response/encode_helpers.hpp"

using namespace asio_infer;
using namespace asio_infer::test;

namespace {

/// window: 31 for gzip, 15 for zlib's own format ("deflate").
std::string inflated(const std::string& coded, int window) {
    z_stream stream{};
    REQUIRE(inflateInit2(&stream, window) == Z_OK);
    std::string out(1 << 20, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(coded.data()));
    stream.avail_in = static_cast<uInt>(coded.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    const int outcome = inflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    CHECK(stream.avail_in == 0);
    inflateEnd(&stream);
    CHECK(outcome == Z_STREAM_END);
    return out;
}

std::string numbers(std::size_t bytes) {
    std::string text = "{\"error\":\"";
    for (int i = 0; text.size() < bytes - 2; ++i) text += static_cast<char>('a' + i % 7);
    return text + "\"}";
}

response_message json_answer(std::string text) {
    response_message out;
    out.text = std::move(text);
    return out;
}

}  // namespace

TEST_CASE("accept-encoding: the highest weight wins") {
    using enum content_coding;
    struct row {
        const char* header;
        content_coding coding;
    };
    const row rows[]{
        {"", identity},
        {"gzip", gzip},
        {"deflate", deflate},
        {"GZip", gzip},
        {"x-gzip", gzip},
        {"br", identity},
        {"br, gzip", gzip},
        {"deflate, gzip", gzip},
        {"gzip;q=0", identity},
        {"gzip;q=0.0, deflate", deflate},
        {"gzip;q=0.5, deflate;q=0.8", deflate},
        {"gzip ; q=0.8 , deflate;Q=0.5", gzip},
        {"gzip;q=0.001", gzip},
        {"*", gzip},
        {"*;q=0", identity},
        {"gzip;q=0, *", deflate},
        {"*;q=0, gzip;q=0.1", gzip},
        {"identity", identity},
        {"identity;q=0", identity},
        {"identity, gzip", gzip},
        {"identity;q=1, gzip;q=0.5", identity},
        {"identity;q=0.5, gzip;q=0.6", gzip},
        {"gzip;q=2", identity},
        {"gzip;q=abc", identity},
        {"gzip;q=1.0001", identity},
        {"gzip;q=", identity},
        {"gzip;level=9", gzip},
        {"gzip;level=9;q=0", identity},
        {",,gzip,", gzip},
        {"gzipped", identity},
    };
    for (const row& r : rows) {
        CAPTURE(std::string(r.header));
        CHECK(choose_coding(r.header) == r.coding);
    }
}

TEST_CASE("compress: gzip and deflate give back the same bytes") {
    const std::string text = numbers(100'000);
    response_message gzip = json_answer(text);
    REQUIRE(compress_body(gzip, "gzip", false));
    CHECK(gzip.content_encoding == "gzip");
    CHECK(gzip.text.size() < text.size() / 10);
    CHECK(inflated(gzip.text, 31) == text);
    response_message deflate = json_answer(text);
    REQUIRE(compress_body(deflate, "deflate", false));
    CHECK(deflate.content_encoding == "deflate");
    CHECK(inflated(deflate.text, 15) == text);
}

TEST_CASE("compress: starts above 1 KiB") {
    response_message small = json_answer(numbers(1024));
    CHECK_FALSE(compress_body(small, "gzip", true));
    CHECK(small.text == numbers(1024));
    CHECK(small.content_encoding.empty());
    response_message large = json_answer(numbers(1025));
    CHECK(compress_body(large, "gzip", false));
}

TEST_CASE("compress: only what the client accepts, only JSON, only once, only if it helps") {
    response_message unasked = json_answer(numbers(5000));
    CHECK_FALSE(compress_body(unasked, "", true));
    CHECK_FALSE(compress_body(unasked, "gzip;q=0", true));
    CHECK(unasked.text == numbers(5000));
    unasked.content_type = "text/plain";
    CHECK_FALSE(compress_body(unasked, "gzip", true));
    unasked.content_type = "application/json";
    REQUIRE(compress_body(unasked, "gzip", true));
    CHECK_FALSE(compress_body(unasked, "gzip", true));
    std::string noise(4000, '\0');
    std::uint32_t state = 1;
    for (char& c : noise) c = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24);
    response_message incompressible = json_answer(noise);
    CHECK_FALSE(compress_body(incompressible, "gzip", true));
    CHECK(incompressible.text == noise);
    CHECK(incompressible.content_encoding.empty());
}

TEST_CASE("compress: binary answers only when the server is told to") {
    const auto binary_answer = [] {
        response_message out = json_answer(numbers(600));
        out.content_type = "application/octet-stream";
        out.json_length = out.text.size();
        out.parts = {bytes_of(std::string(3000, 'x')), bytes_of(std::string(3000, 'y'))};
        return out;
    };
    response_message left = binary_answer();
    CHECK_FALSE(compress_body(left, "gzip", false));
    CHECK(left.parts.size() == 2);
    response_message coded = binary_answer();
    REQUIRE(compress_body(coded, "gzip", true));
    CHECK(coded.parts.empty());
    CHECK(coded.json_length == 600);
    CHECK(inflated(coded.text, 31) == body_of(binary_answer()));
}
