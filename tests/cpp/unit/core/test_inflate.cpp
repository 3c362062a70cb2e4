#include <doctest/doctest.h>
#include <zlib.h>

#include <string>
#include <string_view>

#include "core/inflate.hpp"

using namespace asio_infer;

namespace {

constexpr std::size_t no_limit = std::size_t{1} << 30;

std::string code(std::string_view text, body_coding coding) {
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, coding == body_coding::gzip ? 31 : 15, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 32, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

struct expansion {
    explicit expansion(std::size_t budget_bytes = no_limit) : budget(budget_bytes) {}
    result<buffer> operator()(std::string_view coded, body_coding coding, std::size_t limit = no_limit,
                              std::size_t aligned_at = 0) {
        return expand_body(std::as_bytes(std::span(coded)), coding, limit, aligned_at, lease);
    }
    byte_budget budget;
    byte_lease lease{budget};
};

std::string_view text_of(const buffer& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

TEST_CASE("Content-Encoding: one known coding, in any case") {
    CHECK(parse_body_coding("") == body_coding::identity);
    CHECK(parse_body_coding("Identity") == body_coding::identity);
    CHECK(parse_body_coding("gzip") == body_coding::gzip);
    CHECK(parse_body_coding("X-GZIP") == body_coding::gzip);
    CHECK(parse_body_coding("deflate") == body_coding::deflate);
    for (const std::string_view other : {"br", "gzip, gzip", "gzip,", "gzi", "gzipp", " gzip", "identity, gzip"}) {
        CAPTURE(other);
        CHECK_FALSE(parse_body_coding(other).has_value());
    }
}

TEST_CASE("bodies of every size expand to what they were, and hold that much of the budget") {
    for (const body_coding coding : {body_coding::gzip, body_coding::deflate})
        for (const std::size_t size : {0, 1, 16'383, 16'384, 16'385, 1'000'000}) {
            CAPTURE(size);
            std::string text(size, 'a');
            for (std::size_t i = 0; i < size; i += 3) text[i] = static_cast<char>(i * i % 251);
            expansion expand;
            const result<buffer> got = expand(code(text, coding), coding);
            REQUIRE(got.has_value());
            CHECK(text_of(*got) == text);
            CHECK(expand.budget.used() == size);
        }
}

TEST_CASE("the binary part is aligned") {
    const std::string coded = code(std::string(70'000, 'x'), body_coding::gzip);
    for (const std::size_t at : {std::size_t{0}, std::size_t{187}, std::size_t{65'000}, ~std::size_t{0}}) {
        expansion expand;
        const result<buffer> got = expand(coded, body_coding::gzip, no_limit, at);
        REQUIRE(got.has_value());
        if (at < got->size()) CHECK(got->slice(at, 1).aligned());
    }
}

TEST_CASE("the limit is that of the expanded body, to the byte") {
    for (const std::size_t limit : {std::size_t{1}, std::size_t{16'384}, std::size_t{50'000}}) {
        expansion expand;
        CHECK(expand(code(std::string(limit, 'x'), body_coding::gzip), body_coding::gzip, limit).has_value());
        const auto over = expand(code(std::string(limit + 1, 'x'), body_coding::gzip), body_coding::gzip, limit);
        REQUIRE(over.has_error());
        CHECK(over.error().code == errc::too_large);
        CHECK(over.error().message.find(std::to_string(limit)) != std::string::npos);
        CHECK(expand.budget.used() <= limit + 1);
    }
}

TEST_CASE("a bomb takes no more of the budget than the limit, and stops where that is spent") {
    const std::string bomb = code(std::string(50'000'000, '\0'), body_coding::deflate);
    expansion expand(1'000'000);
    const auto refused = expand(bomb, body_coding::deflate);
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == errc::unavailable);
    expand.lease.release();
    CHECK(expand.budget.used() == 0);
}

TEST_CASE("bytes that are not the coding are told apart") {
    const std::string good = code("some text that is long enough", body_coding::gzip);
    const auto complaint = [](std::string_view coded, body_coding coding) {
        expansion expand;
        const result<buffer> got = expand(coded, coding);
        REQUIRE(got.has_error());
        CHECK(got.error().code == errc::invalid_request);
        return got.error().message;
    };
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        CAPTURE(cut);
        CHECK(complaint(good.substr(0, cut), body_coding::gzip).find("ends early") != std::string::npos);
    }
    CHECK(complaint("plain text", body_coding::gzip).find("damaged") != std::string::npos);
    CHECK(complaint("plain text", body_coding::deflate).find("damaged") != std::string::npos);
    CHECK(complaint(good, body_coding::deflate).find("damaged") != std::string::npos);
    const std::string zlib = code("some text", body_coding::deflate);
    CHECK(complaint(zlib + "x", body_coding::deflate).find("followed") != std::string::npos);
    std::string wrong_sum = zlib;
    wrong_sum.back() = static_cast<char>(wrong_sum.back() ^ 1);
    CHECK(complaint(wrong_sum, body_coding::deflate).find("damaged") != std::string::npos);
}

TEST_CASE("several gzip members are one body") {
    expansion expand;
    const std::string coded =
        code("one ", body_coding::gzip) + code("", body_coding::gzip) + code("two", body_coding::gzip);
    const result<buffer> got = expand(coded, body_coding::gzip);
    REQUIRE(got.has_value());
    CHECK(text_of(*got) == "one two");
}
