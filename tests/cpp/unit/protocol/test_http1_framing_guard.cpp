#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "protocol/http1/framing_guard.hpp"
#include "unit/protocol/http1_fakes.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;
using http1::framing;

namespace {

/// A header as the parser leaves it.
struct head_fixture {
    head_fixture() {
        head.request = &request;
        request.headers.add(header::host, "h");
    }
    void content_length(std::string text) {
        head.content_length = std::move(text);
        ++head.content_length_count;
    }
    void transfer_encoding(std::string text) {
        head.transfer_encoding = std::move(text);
        ++head.transfer_encoding_count;
    }
    void expect(std::string text) {
        head.expect = std::move(text);
        ++head.expect_count;
    }
    result<framing> check() const { return http1::check_framing(head, bounds); }
    errc code() const {
        const auto checked = check();
        REQUIRE(checked.has_error());
        return checked.error().code;
    }
    request_message request;
    http1::request_head head;
    limits bounds;
};

}  // namespace

TEST_CASE("a header without a body") {
    head_fixture f;
    REQUIRE(f.check().has_value());
    CHECK(f.check()->body == framing::kind::none);
    CHECK_FALSE(f.check()->expects_continue);
}

TEST_CASE("a plain Content-Length") {
    head_fixture f;
    f.content_length("0005");
    REQUIRE(f.check().has_value());
    CHECK(f.check()->body == framing::kind::length);
    CHECK(f.check()->length == 5);
}

TEST_CASE("Content-Length: 0 has no body, so nothing to wait for") {
    head_fixture f;
    f.content_length("0");
    f.expect("100-continue");
    REQUIRE(f.check().has_value());
    CHECK(f.check()->body == framing::kind::none);
    CHECK_FALSE(f.check()->expects_continue);
}

TEST_CASE("a Content-Length that is no plain number is refused") {
    for (const char* text : {"", "-1", "+3", "0x3", "3,3", "5, 5", "5 5", "5;", "5.0", "1e3", " 5", "five"}) {
        CAPTURE(text);
        head_fixture f;
        f.content_length(text);
        CHECK(f.code() == errc::invalid_request);
    }
}

TEST_CASE("a Content-Length given twice is refused, equal or not") {
    for (const char* second : {"5", "6"}) {
        head_fixture f;
        f.content_length("5");
        f.content_length(second);
        CHECK(f.code() == errc::invalid_request);
    }
}

TEST_CASE("the body limit is the last length that is accepted") {
    head_fixture f;
    f.bounds.max_body_bytes = 1000;
    f.content_length("1000");
    CHECK(f.check()->length == 1000);
    f.head.content_length = "1001";
    CHECK(f.code() == errc::too_large);
    CHECK(f.check().error().message == "the body has 1001 bytes; the limit is 1000");
    f.head.content_length = "99999999999999999999";  // over 64 bits
    CHECK(f.code() == errc::too_large);
}

TEST_CASE("exactly one \"chunked\", in any case of its letters") {
    for (const char* text : {"chunked", "Chunked", "CHUNKED"}) {
        head_fixture f;
        f.transfer_encoding(text);
        REQUIRE(f.check().has_value());
        CHECK(f.check()->body == framing::kind::chunked);
    }
}

TEST_CASE("other transfer codings: 501 if unknown, 400 if chunked is among them in another place") {
    const std::pair<const char*, errc> rows[] = {
        {"gzip", errc::not_implemented},
        {"identity", errc::not_implemented},
        {"", errc::not_implemented},
        {"xchunked", errc::invalid_request},
        {"chunked, chunked", errc::invalid_request},
        {"chunked, identity", errc::invalid_request},
        {"gzip, chunked", errc::invalid_request},
        {"chunked;q=1", errc::invalid_request},
    };
    for (const auto& [text, code] : rows) {
        CAPTURE(text);
        head_fixture f;
        f.transfer_encoding(text);
        CHECK(f.code() == code);
    }
}

TEST_CASE("Transfer-Encoding twice, beside Content-Length, or in HTTP/1.0") {
    head_fixture twice;
    twice.transfer_encoding("chunked");
    twice.transfer_encoding("chunked");
    CHECK(twice.code() == errc::invalid_request);

    for (const char* coding : {"chunked", "gzip"}) {
        head_fixture both;
        both.transfer_encoding(coding);
        both.content_length("5");
        CHECK(both.code() == errc::invalid_request);
    }

    head_fixture old;
    old.head.version = 10;
    old.transfer_encoding("chunked");
    CHECK(old.code() == errc::invalid_request);
}

TEST_CASE("Host: once; missing only in HTTP/1.0") {
    head_fixture f;
    f.request.headers.clear();
    CHECK(f.code() == errc::invalid_request);
    f.head.version = 10;
    CHECK(f.check().has_value());
    f.request.headers.add(header::host, "a");
    f.request.headers.add(header::host, "a");
    CHECK(f.code() == errc::invalid_request);
    f.head.version = 11;
    CHECK(f.code() == errc::invalid_request);
}

TEST_CASE("a folded line is refused") {
    head_fixture f;
    f.head.folded = true;
    CHECK(f.code() == errc::invalid_request);
}

TEST_CASE("Expect") {
    head_fixture f;
    f.content_length("5");
    f.expect("100-Continue");
    CHECK(f.check()->expects_continue);
    f.head.version = 10;
    CHECK_FALSE(f.check()->expects_continue);
    f.head.version = 11;
    f.head.expect = "something-else";
    CHECK(f.code() == errc::expectation_failed);
    f.head.expect = "100-continue";
    f.head.expect_count = 2;
    CHECK(f.code() == errc::expectation_failed);
}

TEST_CASE("a body over the limit is refused before the client is told to send it") {
    head_fixture f;
    f.bounds.max_body_bytes = 10;
    f.content_length("11");
    f.expect("100-continue");
    CHECK(f.code() == errc::too_large);
}

// From here on as bytes, through the parser and the session: whoever refuses, the connection ends with one answer, and
// what a second reading of the framing would make the next request is none.

namespace {

struct framing_row {
    std::string what;
    std::string head;  ///< of a POST, without Host
    std::string body;  ///< followed by a smuggled GET
    int status;
};

const std::string smuggled = get("/smuggled");

std::vector<framing_row> refused_framings() {
    const std::string te = "Transfer-Encoding: ";
    const std::string cl = "Content-Length: ";
    const std::string ok = "5\r\nhello\r\n0\r\n\r\n";
    return {
        {"gzip", te + "gzip\r\n", "hello", 501},
        {"chunked, identity", te + "chunked, identity\r\n", ok, 400},
        {"xchunked beside a length", te + "xchunked\r\n" + cl + "5\r\n", "hello", 400},
        {"identity beside a length", te + "identity\r\n" + cl + "5\r\n", "hello", 400},
        {"gzip, then a length", te + "gzip\r\n" + cl + "5\r\n", "hello", 400},
        {"a length, then gzip", cl + "5\r\n" + te + "gzip\r\n", "hello", 400},
        {"chunked, then a length", te + "chunked\r\n" + cl + "5\r\n", ok, 400},
        {"a length, then chunked", cl + "5\r\n" + te + "chunked\r\n", ok, 400},
        {"two lengths that differ", cl + "5\r\n" + cl + "6\r\n", "hello", 400},
        {"two equal lengths", cl + "5\r\n" + cl + "5\r\n", "hello", 400},
        {"5, 5", cl + "5, 5\r\n", "hello", 400},
        {"3,3", cl + "3,3\r\n", "abc", 400},
        {"+3", cl + "+3\r\n", "abc", 400},
        {"0x3", cl + "0x3\r\n", "abc", 400},
        {"-3", cl + "-3\r\n", "abc", 400},
        {"empty length", cl + "\r\n", "abc", 400},
        {"length over 64 bits", cl + "18446744073709551619\r\n", "abc", 400},
        {"length over the limit", cl + "4611686018427387904\r\n", "abc", 413},
        {"chunked, chunked", te + "chunked, chunked\r\n", ok, 400},
        {"chunked twice", te + "chunked\r\n" + te + "chunked\r\n", ok, 400},
        {"gzip and chunked in two headers", te + "gzip\r\n" + te + "chunked\r\n", ok, 400},
        {"space before the colon", "Transfer-Encoding : chunked\r\n", ok, 400},
        {"space before the colon of the length", "Content-Length : 5\r\n", "hello", 400},
        {"tab before the coding", te + "\tchunked\x0b\r\n", ok, 400},
        {"NUL in a value", std::string("X: a\0b\r\n", 8) + cl + "5\r\n", "hello", 400},
        {"control character in a name", "X\x01: a\r\n" + cl + "5\r\n", "hello", 400},
        {"a folded line", "X: a\r\n b\r\n" + cl + "5\r\n", "hello", 400},
        {"a folded line with a tab", "X: a\r\n\tb\r\n" + cl + "5\r\n", "hello", 400},
        {"a fold that begins empty", "X:\r\n b\r\n" + cl + "5\r\n", "hello", 400},
        {"a folded coding", te + "\r\n chunked\r\n", ok, 400},
        {"a folded first line", " X: a\r\n" + cl + "5\r\n", "hello", 400},
        {"a second Host", "Host: h\r\n" + cl + "5\r\n", "hello", 400},
        {"line feed alone in the header", "X: a\nContent-Length: 5\r\n", "hello", 400},
        {"carriage return alone", "X: a\rContent-Length: 5\r\n", "hello", 400},
        {"a header without a colon", "Transfer-Encoding\r\n" + cl + "5\r\n", "hello", 400},
        {"a header without a name", ": chunked\r\n" + cl + "5\r\n", "hello", 400},
        {"unknown expectation", "Expect: 200-ok\r\n" + cl + "5\r\n", "hello", 417},
        {"negative chunk", te + "chunked\r\n", "-1\r\nhello\r\n0\r\n\r\n", 400},
        {"0x chunk", te + "chunked\r\n", "0x5\r\nhello\r\n0\r\n\r\n", 400},
        {"chunk of 17 digits", te + "chunked\r\n", "10000000000000005\r\nhello\r\n0\r\n\r\n", 400},
        {"chunk over the limit", te + "chunked\r\n", "fffffffffffffff0\r\n", 413},
        {"chunk size missing", te + "chunked\r\n", "\r\nhello\r\n0\r\n\r\n", 400},
        {"space before the chunk size", te + "chunked\r\n", " 5\r\nhello\r\n0\r\n\r\n", 400},
        {"garbage behind the chunk size", te + "chunked\r\n", "5 hello\r\n0\r\n\r\n", 400},
        {"longer chunk than its size", te + "chunked\r\n", "5\r\nhello!\r\n0\r\n\r\n", 400},
        {"line feed alone behind the chunk size", te + "chunked\r\n", "5\nhello\r\n0\r\n\r\n", 400},
        {"line feed alone behind the chunk", te + "chunked\r\n", "5\r\nhello\n0\r\n\r\n", 400},
        {"line feed alone behind the last chunk", te + "chunked\r\n", "5\r\nhello\r\n0\n\n", 400},
        {"length in the trailer", te + "chunked\r\n", "5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n", 400},
        {"coding in the trailer", te + "chunked\r\n", "5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"Host in the trailer", te + "chunked\r\n", "5\r\nhello\r\n0\r\nHost: x\r\n\r\n", 400},
        {"chunk extension of 100 KB", te + "chunked\r\n", "5;" + std::string(100'000, 'x') + "\r\nhello\r\n0\r\n\r\n",
         400},
    };
}

void check_refused(const std::string& bytes, int status, std::size_t piece) {
    session_fixture f;
    f.feed(bytes, piece);
    const auto answers = f.answers();
    REQUIRE(answers.size() == 1);
    if (status != 0) CHECK(answers[0].status == status);
    CHECK(answers[0].header("connection") == "close");
    CHECK(f.handler.seen.empty());
    CHECK(f.session->send_side_over());
}

}  // namespace

TEST_CASE("doubtful framings are refused, and nothing behind them becomes a request") {
    for (const framing_row& row : refused_framings()) {
        CAPTURE(row.what);
        const std::string bytes = "POST / HTTP/1.1\r\nHost: h\r\n" + row.head + "\r\n" + row.body + smuggled;
        for (const std::size_t piece : {std::string::npos, std::size_t{1}, std::size_t{7}})
            check_refused(bytes, row.status, piece);
    }
}

TEST_CASE("doubtful request lines are refused") {
    const std::string lines[] = {
        "GET / HTTP/1.1\nHost: h\r\n\r\n",     // line feed alone
        "GET  / HTTP/1.1\r\nHost: h\r\n\r\n",  // two spaces
        "GET / HTTP/1.1 \r\nHost: h\r\n\r\n",  // a space behind
        "GET / HTTP/2.0\r\nHost: h\r\n\r\n",   // the version of another protocol
        "GET / HTTP/1.2\r\nHost: h\r\n\r\n",
        "GET / http/1.1\r\nHost: h\r\n\r\n",
        "GET /\r\nHost: h\r\n\r\n",  // HTTP/0.9
        "GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n",
        "G(T / HTTP/1.1\r\nHost: h\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",  // TLS
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",  // no Host
    };
    for (const std::string& line : lines) {
        CAPTURE(line);
        for (const std::size_t piece : {std::string::npos, std::size_t{1}}) check_refused(line + smuggled, 400, piece);
    }
}

TEST_CASE("HTTP/1.0 with chunks is refused") {
    check_refused("POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, 400,
                  std::string::npos);
}

TEST_CASE("a clean chunked request with extensions and a trailer is taken") {
    session_fixture f;
    f.handler.answers_at_once = true;
    f.feed(chunked("/", "5;a=1;b=\"x y\"\r\nhello\r\n006\r\n world\r\n0;last\r\nX-Sum: 1\r\n\r\n") + get("/next"));
    CHECK(f.targets() == std::vector<std::string>{"/", "/next"});
    CHECK(f.handler.seen[0].body == "hello world");
}
