#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "unit/protocol/http1_fakes.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;
using namespace std::chrono_literals;

namespace {

using texts = std::vector<std::string>;

/// Requests of every shape one behind the other, and what the handler is to see of them.
struct conversation {
    std::string bytes = get("/a?b=%20", "X-Request-Id: one\r\n") + post("/b", "body\r\n\r\nGET /no HTTP/1.1\r\n\r\n") +
                        post("/c", "") + chunked("/d", to_chunks("chunked body", 5), "Content-Type: x/y\r\n") +
                        chunked("/e", "0\r\n\r\n") + "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n" +
                        chunked("/f", "1;x\r\na\r\n0\r\nX-Trailer: t\r\n\r\n") +
                        "GET /last HTTP/1.1\r\nhost:h\r\nconnection:close\r\n\r\n";
    texts targets{"/a?b=%20", "/b", "/c", "/d", "/e", "*", "/f", "/last"};
    texts bodies{"", "body\r\n\r\nGET /no HTTP/1.1\r\n\r\n", "", "chunked body", "", "", "a", ""};
};

void check_conversation(session_fixture& f, const conversation& c) {
    CHECK(f.targets() == c.targets);
    texts bodies;
    for (const seen_request& each : f.handler.seen) bodies.push_back(each.body);
    CHECK(bodies == c.bodies);
    REQUIRE(f.handler.seen.size() == c.targets.size());
    CHECK(f.handler.seen[0].request_id == "one");
    CHECK(f.handler.seen[1].request_id.empty());
    CHECK(f.handler.seen[3].content_type == "x/y");
    CHECK(f.handler.seen[4].content_type.empty());
    CHECK(f.handler.refused.empty());
    const auto answers = f.answers();
    REQUIRE(answers.size() == c.targets.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
        CHECK(answers[i].status == 200);
        CHECK(answers[i].body == c.targets[i]);
        CHECK(answers[i].header("connection") == (i + 1 == answers.size() ? "close" : ""));
    }
    CHECK(f.session->send_side_over());
    CHECK(f.budget.used() == 0);
}

}  // namespace

TEST_CASE("the same requests are read however the bytes come") {
    const conversation c;
    for (std::size_t piece = 1; piece <= c.bytes.size(); ++piece) {
        CAPTURE(piece);
        session_fixture f;
        f.handler.answers_at_once = true;
        CHECK(f.feed(c.bytes, piece) == c.bytes.size());
        check_conversation(f, c);
    }
}

TEST_CASE("the same requests are read wherever the bytes are cut in two") {
    const conversation c;
    for (std::size_t cut = 1; cut < c.bytes.size(); ++cut) {
        CAPTURE(cut);
        session_fixture f;
        f.handler.answers_at_once = true;
        f.feed(c.bytes.substr(0, cut));
        f.send_all();
        f.feed(c.bytes.substr(cut));
        check_conversation(f, c);
    }
}

TEST_CASE("the exact bytes of an answer") {
    session_fixture f;
    f.feed(get("/"));
    exchange& x = *f.handler.open[0];
    x.response.status = 429;
    x.response.retry_after_s = 1;
    x.response.request_id = "r1";
    x.response.json_length = 2;
    x.response.content_encoding = "gzip";
    f.handler.answer(x, "{}");
    f.send_all();
    const std::size_t date = f.output.find("\r\nDate: ");
    REQUIRE(date != std::string::npos);
    CHECK(f.output.substr(date + 2 + 6 + 29, 2) == "\r\n");
    CHECK(f.output.substr(date + 2 + 6 + 25, 4) == " GMT");
    f.output.erase(date, 2 + 6 + 29);
    CHECK(f.output ==
          "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
          "Inference-Header-Content-Length: 2\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
          "Retry-After: 1\r\nX-Request-Id: r1\r\nKeep-Alive: timeout=75\r\n\r\n{}");
}

TEST_CASE("an answer without content has neither type nor length") {
    session_fixture f;
    f.feed("OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\n");
    exchange& x = *f.handler.open[0];
    x.response.status = 204;
    x.response.allow = "GET, HEAD, OPTIONS";
    f.handler.answer(x, "");
    const auto answers = f.answers();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].status == 204);
    CHECK(answers[0].header("allow") == "GET, HEAD, OPTIONS");
    CHECK(answers[0].headers.count("content-length") == 0);
    CHECK(answers[0].headers.count("content-type") == 0);
}

TEST_CASE("HEAD is answered with the length of what GET would get, and nothing else") {
    for (const std::size_t size : {std::size_t{5}, std::size_t{100'000}}) {
        session_fixture f;
        f.feed("HEAD /h HTTP/1.1\r\nHost: h\r\n\r\n" + get("/g"));
        const std::string body = pattern(size);
        f.handler.answer(0, body);
        f.handler.answer(0, "next");
        f.send_all();
        http_answer_reader reader;
        reader.append(f.output);
        const auto head = reader.next(true);
        REQUIRE(head);
        CHECK(head->header("content-length") == std::to_string(size));
        const auto next = reader.next();
        REQUIRE(next);
        CHECK(next->body == "next");
        CHECK(reader.rest().empty());
    }
}

TEST_CASE("answers leave in the order of the requests, whatever the order in which they are ready") {
    std::vector<std::size_t> order{0, 1, 2, 3};
    do {
        session_fixture f;
        f.feed(get("/0") + get("/1") + get("/2") + get("/3"));
        std::vector<exchange*> open = f.handler.open;
        REQUIRE(open.size() == 4);
        std::vector<bool> ready(5);
        for (const std::size_t i : order) {
            f.handler.answer(*open[i], f.handler.seen[i].target);
            ready[i] = true;
            const auto in_order = std::find(ready.begin(), ready.end(), false) - ready.begin();
            CHECK(f.answers().size() == static_cast<std::size_t>(in_order));
        }
        const auto answers = f.answers();
        for (std::size_t i = 0; i < 4; ++i) CHECK(answers.at(i).body == "/" + std::to_string(i));
        CHECK(f.session->quiet());
        CHECK_FALSE(f.session->over());
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("one write may take the answers of several requests") {
    session_fixture f;
    f.feed(get("/0") + get("/1") + get("/2"));
    for (int i = 0; i < 3; ++i) f.handler.answer(0, "x");
    CHECK(f.send_some() > 0);
    CHECK(f.session->quiet());
    CHECK(f.answers().size() == 3);
}

TEST_CASE("the request limit pauses reading, also what has come already; an answer that left lets it go on") {
    limits l;
    l.max_pipelined_requests = 2;
    for (const std::size_t piece : {std::string::npos, std::size_t{1}}) {
        session_fixture f(l);
        const std::string all = get("/0") + get("/1") + get("/2") + get("/3") + post("/4", "body");
        std::size_t fed = f.feed(all, piece);
        CHECK(f.targets() == texts{"/0", "/1"});
        CHECK(f.session->prepare().empty());

        // The second is ready first: nothing can leave, nothing more is read.
        f.handler.answer(1, "1");
        CHECK(f.send_some() == 0);
        CHECK(f.targets() == texts{"/0", "/1"});

        f.handler.answer(0, "0");
        f.host.changes = 0;
        f.send_all();
        CHECK(f.host.changes > 0);  // the reader waits: it is told
        fed += f.feed(all.substr(fed), piece);
        CHECK(f.targets() == texts{"/0", "/1", "/2", "/3"});
        CHECK(f.session->prepare().empty());

        f.handler.answer(0, "2");
        f.handler.answer(0, "3");
        f.send_all();
        f.feed(all.substr(fed), piece);
        CHECK(f.handler.seen.back().body == "body");
        f.handler.answer(0, "4");
        const auto answers = f.answers();
        REQUIRE(answers.size() == 5);
        for (std::size_t i = 0; i < 5; ++i) CHECK(answers[i].body == std::to_string(i));
    }
}

TEST_CASE("a peer that closed its side while its requests waited at the limit is answered in full") {
    limits l;
    l.max_pipelined_requests = 1;
    session_fixture f(l);
    f.feed(get("/0") + get("/1") + get("/2"));
    f.session->peer_finished(f.now);
    CHECK(f.session->prepare().empty());
    for (const char* text : {"0", "1", "2"}) {
        CHECK_FALSE(f.session->over());
        f.handler.answer(0, text);
        f.send_all();
    }
    CHECK(f.targets() == texts{"/0", "/1", "/2"});
    CHECK(f.answers().size() == 3);
    CHECK(f.session->over());
}

TEST_CASE("half a request that waited at the limit when the peer closed its side is dropped") {
    limits l;
    l.max_pipelined_requests = 1;
    session_fixture f(l);
    f.feed(get("/0") + "GET /half HTT");
    f.session->peer_finished(f.now);
    f.handler.answer(0, "0");
    CHECK(f.answers().size() == 1);
    CHECK(f.session->quiet());
    CHECK(f.session->over());
    CHECK(f.handler.refused.empty());
}

TEST_CASE("large answers leave from where they are, in any pieces") {
    const std::string first = pattern(20'000);
    const std::string second = pattern(3'000);
    const auto whole = [&](std::size_t piece) {
        session_fixture f;
        f.feed(get("/0") + get("/1"));
        const auto owner = std::make_shared<std::string>(second);
        const buffer part(owner, std::as_bytes(std::span(*owner)));
        f.handler.answer(*f.handler.open[0], first, {part, buffer{}, part.slice(10, 5), part});
        CHECK(f.budget.used() == first.size() + 2 * second.size() + 5);
        f.handler.answer(0, "small");
        while (f.send_some(piece) > 0) {
        }
        CHECK(f.budget.used() == 0);
        CHECK(owner.use_count() == 2);  // `part` here; the session has let go
        return f.output;
    };
    const std::string at_once = whole(std::string::npos);
    const auto answers = parse_answers(at_once);
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].body == first + second + second.substr(10, 5) + second);
    CHECK(answers[1].body == "small");
    for (const std::size_t piece : {1, 2, 3, 1000, 16'383, 20'001}) CHECK(whole(piece).size() == at_once.size());
}

TEST_CASE("a write may end at every byte of two answers") {
    const std::string body = pattern(40);
    std::string expected;
    for (std::size_t cut = 0; cut == 0 || cut < expected.size(); ++cut) {
        CAPTURE(cut);
        session_fixture f;
        f.feed(get("/0") + get("/1"));
        f.handler.answer(0, body);
        f.handler.answer(0, body);
        if (cut > 0) CHECK(f.send_some(cut) == cut);
        f.send_all();
        if (cut == 0) expected = f.output;
        CHECK(f.output.size() == expected.size());
        CHECK(parse_answers(f.output).at(1).body == body);
        CHECK(f.session->quiet());
    }
}

TEST_CASE("HTTP/1.0: closed, unless the client asks to keep it open") {
    session_fixture f;
    f.handler.answers_at_once = true;
    f.feed("GET /0 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    REQUIRE(f.answers().size() == 1);
    CHECK(f.answers()[0].header("connection") == "keep-alive");
    CHECK_FALSE(f.session->send_side_over());
    f.feed("GET /1 HTTP/1.0\r\n\r\n");
    REQUIRE(f.answers().size() == 2);
    CHECK(f.answers()[1].header("connection") == "close");
    CHECK(f.session->send_side_over());
    CHECK(f.targets() == texts{"/0", "/1"});
}

TEST_CASE("Connection: close ends the connection behind that answer; later bytes are dropped") {
    session_fixture f;
    f.feed(get("/0") + get("/1", "Connection: close\r\n") + get("/never"));
    CHECK(f.targets() == texts{"/0", "/1"});
    f.handler.answer(1, "1");
    f.handler.answer(0, "0");
    f.feed(get("/never"));
    const auto answers = f.answers();
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].header("connection").empty());
    CHECK(answers[1].header("connection") == "close");
    CHECK(f.targets() == texts{"/0", "/1"});
    // What came too much is read before the close: a reset could cost the peer its answer.
    CHECK(f.session->send_side_over());
    CHECK_FALSE(f.session->over());
    f.session->peer_finished(f.now);
    CHECK(f.session->over());
}

TEST_CASE("a refused request is answered behind those before it, and ends the connection") {
    session_fixture f;
    f.feed(get("/0") + get("/1") + "BAD\r\n\r\n" + get("/never"));
    CHECK(f.targets() == texts{"/0", "/1"});
    CHECK(f.handler.refused.size() == 1);
    CHECK(f.send_some() == 0);
    f.handler.answer(1, "1");
    f.handler.answer(0, "0");
    const auto answers = f.answers();
    REQUIRE(answers.size() == 3);
    CHECK(answers[1].body == "1");
    CHECK(answers[2].status == 400);
    CHECK(answers[2].header("connection") == "close");
    f.feed(get("/never") + post("/never", "x"));
    CHECK(f.targets() == texts{"/0", "/1"});
    CHECK(f.session->send_side_over());
}

TEST_CASE("a malformed request is answered with a body, whatever the request before it was") {
    session_fixture f;
    f.handler.answers_at_once = true;
    f.feed("HEAD /h HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    f.send_all();
    f.output.clear();
    f.feed("BAD\r\n\r\n");
    const auto answers = f.answers();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].status == 400);
    CHECK(answers[0].body == f.handler.refused.at(0).message);
}

TEST_CASE("the answer that an exchange held before is not seen in the next") {
    session_fixture f;
    f.feed(get("/0", "X-Request-Id: a\r\nContent-Type: t\r\n"));
    exchange& first = *f.handler.open[0];
    first.response.request_id = "a";
    first.response.json_length = 1;
    first.response.allow = "GET";
    f.handler.answer(first, "text");
    f.send_all();
    f.feed(get("/1"));
    exchange& second = *f.handler.open[0];
    CHECK(second.response.status == 200);
    CHECK(second.response.text.empty());
    CHECK(second.response.request_id.empty());
    CHECK_FALSE(second.response.json_length);
    CHECK(second.response.allow.empty());
    CHECK(f.handler.seen[1].content_type.empty());
}

TEST_CASE("an operation has ended when its answer is laid out") {
    struct noted final : operation {
        explicit noted(bool& g) : gone(g) {}
        ~noted() override { gone = true; }
        bool& gone;
    };
    session_fixture f;
    f.feed(get("/"));
    bool gone = false;
    f.handler.open[0]->pending = std::make_unique<noted>(gone);
    f.handler.answer(0, "x");
    CHECK(gone);
}

TEST_CASE("requests carry the time at which they were complete") {
    session_fixture f;
    f.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na");
    f.now += 3s;
    f.feed("b" + get("/1"));
    CHECK(f.handler.seen.at(0).arrived == f.now);
    CHECK(f.handler.seen.at(1).arrived == f.now);
}

TEST_CASE("bytes in and out are counted") {
    session_fixture f;
    f.handler.answers_at_once = true;
    const std::string bytes = get("/");
    f.feed(bytes, 3);
    f.send_all(5);
    CHECK(f.stats.bytes_received == bytes.size());
    CHECK(f.stats.bytes_sent == f.output.size());
}
