#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "protocol/http1/request_parser.hpp"

using namespace asio_infer;
using http1::request_parser;

namespace {

struct collecting_sink final : http1::chunk_sink {
    bool on_chunk(std::string_view bytes, std::uint64_t left) override {
        CHECK(left >= bytes.size());
        if (body.size() + bytes.size() > limit) return false;
        body.append(bytes);
        return true;
    }
    std::string body;
    std::size_t limit = 1000;
};

struct parser_fixture {
    explicit parser_fixture(std::size_t max_header = 32 * 1024) {
        head.request = &request;
        parser.emplace(head, sink, max_header);
    }
    /// Gives the parser `bytes` in pieces and what it leaves again, as a session does; returns how many it took.
    std::size_t parse(const std::string& bytes, std::size_t piece = std::string::npos) {
        std::size_t taken = 0;
        const bool in_header = !parser->is_header_done();
        const auto over = [&] { return failure || (in_header ? parser->is_header_done() : parser->is_done()); };
        for (std::size_t end = 0; end < bytes.size() && !over();) {
            end = piece >= bytes.size() - end ? bytes.size() : end + piece;
            taken += parser->parse(std::string_view(bytes).substr(taken, end - taken), failure);
        }
        return taken;
    }
    std::string_view operator[](header h) const { return request.headers[h]; }

    request_message request;
    http1::request_head head;
    collecting_sink sink;
    std::optional<request_parser> parser;
    std::optional<error> failure;
};

const std::string start = "POST /v2/x?y=%20 HTTP/1.1\r\n";

}  // namespace

TEST_CASE("method, target and the headers that later stages read") {
    const std::string bytes = start +
                              "hOST: h:1\r\ncontent-TYPE:  application/json \t\r\nContent-Encoding: gzip\r\n"
                              "Accept-Encoding: br, gzip\r\nINFERENCE-Header-Content-Length: 12\r\n"
                              "x-request-ID: r1\r\nX-Other: o\r\nContent-Length: 7\r\nExpect: 100-continue\r\n\r\n";
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        CAPTURE(piece);
        parser_fixture f;
        CHECK(f.parse(bytes + "body", piece) == bytes.size());
        REQUIRE_FALSE(f.failure);
        CHECK(f.parser->is_header_done());
        CHECK(f.parser->keep_alive());
        CHECK(f.request.method == verb::post);
        CHECK(f.request.method_name == "POST");
        CHECK(f.request.target == "/v2/x?y=%20");
        CHECK(f.head.version == 11);
        CHECK(f[header::host] == "h:1");
        CHECK(f[header::content_type] == "application/json");
        CHECK(f[header::content_encoding] == "gzip");
        CHECK(f[header::accept_encoding] == "br, gzip");
        CHECK(f[header::inference_header_content_length] == "12");
        CHECK(f[header::request_id] == "r1");
        CHECK(f.head.content_length == "7");
        CHECK(f.head.content_length_count == 1);
        CHECK(f.head.transfer_encoding_count == 0);
        CHECK(f.head.expect == "100-continue");
        CHECK_FALSE(f.head.folded);
    }
}

TEST_CASE("repeated headers are counted, and their values are one list") {
    parser_fixture f;
    f.parse(start + "Host: a\r\nHost: b\r\nX-Request-Id: 1\r\nx-request-id: 2\r\nx-request-id: 3\r\n\r\n");
    CHECK(f[header::host] == "a, b");
    CHECK(f.request.headers.count(header::host) == 2);
    CHECK(f[header::request_id] == "1, 2, 3");
    CHECK(f.request.headers.count(header::request_id) == 3);
}

TEST_CASE("methods") {
    const std::pair<const char*, verb> rows[] = {
        {"GET", verb::get},   {"HEAD", verb::head}, {"POST", verb::post},        {"OPTIONS", verb::options},
        {"PUT", verb::other}, {"get", verb::other}, {"BREW-COFFEE", verb::other}};
    for (const auto& [name, expected] : rows) {
        parser_fixture f;
        f.parse(std::string(name) + " / HTTP/1.1\r\nHost: h\r\n\r\n");
        REQUIRE_FALSE(f.failure);
        CHECK(f.request.method == expected);
        CHECK(f.request.method_name == name);
    }
}

TEST_CASE("which connections stay open") {
    const std::pair<const char*, bool> rows[] = {
        {"GET / HTTP/1.1\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nConnection: x, CLOSE\r\n\r\n", false},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
    };
    for (const auto& [bytes, open] : rows) {
        CAPTURE(bytes);
        parser_fixture f;
        f.parse(bytes);
        REQUIRE_FALSE(f.failure);
        CHECK(f.parser->keep_alive() == open);
    }
}

TEST_CASE("a folded line is noticed however the bytes come") {
    const std::string bytes = start + "Host: h\r\nX: a\r\n b\r\nY: c\r\n\r\n";
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        CAPTURE(piece);
        parser_fixture f;
        f.parse(bytes, piece);
        CHECK(f.head.folded);
    }
}

TEST_CASE("a body that begins with a blank is no folded line") {
    for (std::size_t piece = 1; piece < 60; ++piece) {
        parser_fixture f;
        const std::string head = start + "Host: h\r\n\r\n";
        CHECK(f.parse(head + " body", piece) == head.size());
        CHECK_FALSE(f.head.folded);
    }
}

TEST_CASE("the header limit counts the whole header, in one line or in many") {
    const std::string head = start + "Host: h\r\nX: " + std::string(100, 'x') + "\r\n\r\n";
    for (const std::size_t piece : {std::string::npos, std::size_t{1}}) {
        parser_fixture exact(head.size());
        exact.parse(head, piece);
        CHECK_FALSE(exact.failure);
        parser_fixture less(head.size() - 1);
        less.parse(head, piece);
        REQUIRE(less.failure);
        CHECK(less.failure->code == errc::header_too_large);
    }
    std::string many = start;
    for (int i = 0; i < 200; ++i) many += "X: 12345\r\n";
    for (const std::size_t piece : {std::string::npos, std::size_t{1}, std::size_t{10}}) {
        parser_fixture f(1000);
        CHECK(f.parse(many, piece) <= 1000);
        REQUIRE(f.failure);
        CHECK(f.failure->code == errc::header_too_large);
    }
}

namespace {

const std::string chunked_head = start + "Host: h\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Parses the header, then the body.
struct chunk_fixture : parser_fixture {
    chunk_fixture() {
        REQUIRE(parse(chunked_head) == chunked_head.size());
        REQUIRE(parser->is_header_done());
    }
};

}  // namespace

TEST_CASE("chunks reach the sink however the bytes come, and the next request is left") {
    const std::string body = "3\r\nabc\r\n00A;x=y\r\n0123456789\r\n0\r\nT: 1\r\nU: 2\r\n\r\n";
    for (std::size_t piece = 1; piece <= body.size(); ++piece) {
        CAPTURE(piece);
        chunk_fixture f;
        CHECK(f.parse(body + "GET /", piece) == body.size());
        REQUIRE_FALSE(f.failure);
        CHECK(f.parser->is_done());
        CHECK(f.parser->in_trailer());
        CHECK(f.sink.body == "abc0123456789");
    }
}

TEST_CASE("chunk extensions have a limit of their own, over all chunks together") {
    const auto chunk = [](std::size_t extension) { return "1;" + std::string(extension - 1, 'x') + "\r\na\r\n"; };
    {
        chunk_fixture f;
        f.parse(chunk(request_parser::max_chunk_extensions));
        CHECK_FALSE(f.failure);
        f.parse(chunk(2));
        REQUIRE(f.failure);
        CHECK(f.failure->code == errc::invalid_request);
    }
    chunk_fixture f;
    std::string many;
    for (std::size_t i = 0; i < request_parser::max_chunk_extensions / 4; ++i) many += chunk(4);
    f.parse(many);
    CHECK_FALSE(f.failure);
    f.parse("0;xyz\r\n\r\n");
    CHECK(f.failure);
}

TEST_CASE("a trailer may not change the framing, and counts as header") {
    for (const char* field : {"Content-Length: 1", "Transfer-Encoding: chunked", "Host: other"}) {
        CAPTURE(field);
        chunk_fixture f;
        f.parse(std::string("1\r\na\r\n0\r\n") + field + "\r\n\r\n");
        REQUIRE(f.failure);
        CHECK(f.failure->code == errc::invalid_request);
        CHECK_FALSE(f.parser->is_done());
    }
    chunk_fixture f;
    f.parse("0\r\n");
    for (int i = 0; i < 10'000 && !f.failure; ++i) f.parse("X: 12345\r\nX");
    REQUIRE(f.failure);
}

TEST_CASE("a trailer's headers are not the request's") {
    chunk_fixture f;
    f.parse("0\r\nX-Request-Id: t\r\nContent-Type: t\r\nExpect: t\r\n\r\n");
    CHECK(f.parser->is_done());
    CHECK(f[header::request_id].empty());
    CHECK(f[header::content_type].empty());
    CHECK(f.head.expect_count == 0);
}

TEST_CASE("a sink that is full ends the parsing") {
    chunk_fixture f;
    f.sink.limit = 4;
    f.parse("5\r\nhello\r\n0\r\n\r\n");
    CHECK(f.failure);
    CHECK(f.sink.body.empty());
}
