#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "unit/protocol/http1_fakes.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;
using namespace std::chrono_literals;

namespace {

using texts = std::vector<std::string>;

limits with_body_limit(std::size_t bytes) {
    limits l;
    l.max_body_bytes = bytes;
    return l;
}

/// The one answer, which must be the refusal `status` of a connection that then closes.
void check_refusal(session_fixture& f, int status) {
    const auto answers = f.answers();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].status == status);
    CHECK(answers[0].header("connection") == "close");
    CHECK(f.handler.seen.empty());
    CHECK(f.session->send_side_over());
    f.feed(get("/never"));
    CHECK(f.handler.seen.empty());
}

const std::string expecting = "Expect: 100-continue\r\n";

}  // namespace

TEST_CASE("bodies of every size arrive whole, with a length and in chunks of any size") {
    for (const std::size_t size : {1, 2, 4095, 4096, 4097, 16'383, 16'384, 16'385, 70'000, 300'000}) {
        const std::string body = pattern(size);
        for (const std::size_t piece : {std::string::npos, std::size_t{1021}}) {
            CAPTURE(size);
            session_fixture f({}, std::size_t{4} << 20);
            f.feed(post("/length", body), piece);
            for (const std::size_t chunk : {size, std::size_t{1000}})
                f.feed(chunked("/chunks", to_chunks(body, chunk)), piece);
            REQUIRE(f.handler.seen.size() == 3);
            for (const seen_request& each : f.handler.seen) CHECK(each.body == body);
        }
    }
}

TEST_CASE("many one-byte chunks") {
    session_fixture f;
    const std::string body = pattern(20'000);
    f.feed(chunked("/", to_chunks(body, 1)));
    REQUIRE(f.handler.seen.size() == 1);
    CHECK(f.handler.seen[0].body == body);
}

TEST_CASE("the binary part of a body is aligned where it begins") {
    const std::string body = std::string(37, '{') + pattern(70'000);
    const std::string header = "Inference-Header-Content-Length: 37\r\n";
    session_fixture f;
    f.feed(post("/", body, header) + chunked("/", to_chunks(body, 999), header));
    REQUIRE(f.handler.open.size() == 2);
    for (const exchange* x : f.handler.open) CHECK(x->request.body.slice(37, 1).aligned());
    f.feed(post("/", body) + post("/", body, "Inference-Header-Content-Length: nonsense\r\n") +
           post("/", "x", "Inference-Header-Content-Length: 99999999999\r\n"));
    REQUIRE(f.handler.seen.size() == 5);
    for (std::size_t i = 2; i < 5; ++i) CHECK(f.handler.seen[i].body_aligned);
}

TEST_CASE("a body with a length is read into its place, and never beyond it") {
    session_fixture f;
    f.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    CHECK(f.session->prepare().size() == 7);
    f.feed("defg");
    CHECK(f.session->prepare().size() == 3);
}

TEST_CASE("a length over the limit is refused before any of the body") {
    session_fixture f(with_body_limit(1000));
    f.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n");
    check_refusal(f, 413);
    f.feed(pattern(1001));  // a client that sends first and reads then
    CHECK(f.answers().size() == 1);
    CHECK_FALSE(f.session->over());
    f.session->peer_finished(f.now);
    CHECK(f.session->over());
}

TEST_CASE("a chunked body may reach the limit and not pass it") {
    for (const std::size_t chunk : {1, 10, 999, 1000, 1001}) {
        CAPTURE(chunk);
        session_fixture exact(with_body_limit(1000));
        exact.feed(chunked("/", to_chunks(pattern(1000), chunk)));
        REQUIRE(exact.handler.seen.size() == 1);
        CHECK(exact.handler.seen[0].body == pattern(1000));

        session_fixture over(with_body_limit(1000));
        over.feed(chunked("/", to_chunks(pattern(1001), chunk)) + get("/never"));
        check_refusal(over, 413);
    }
}

TEST_CASE("a chunk that goes over the limit is refused before it is read") {
    session_fixture f(with_body_limit(1000));
    f.feed(chunked("/", "3e8\r\n") + pattern(1000) + "\r\n1\r\nx");
    check_refusal(f, 413);
    session_fixture g(with_body_limit(1000));
    g.feed(chunked("/", "3e9\r\nx"));
    check_refusal(g, 413);
}

TEST_CASE("a body takes its share of the budget, and its answer takes its place") {
    session_fixture f({}, 10'000);
    f.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6000\r\n\r\n");
    CHECK(f.budget.used() == 6000);
    f.feed(pattern(6000));
    CHECK(f.budget.used() == 6000);
    f.handler.answer(0, std::string(9000, 'x'));
    CHECK(f.budget.used() == 9000);
    f.send_some(100);
    CHECK(f.budget.used() == 9000);
    f.send_all();
    CHECK(f.budget.used() == 0);
}

TEST_CASE("no budget for the body to begin: 503, and the connection ends") {
    const std::string length = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5001\r\n\r\n";
    for (const std::string& request : {length, chunked("/", "1\r\na\r\n0\r\n\r\n")}) {
        session_fixture f({}, 10'000);
        REQUIRE(f.budget.try_take(5'000));
        f.feed(request);
        check_refusal(f, 503);
        CHECK(f.handler.refused.at(0).retry_after_s == 1);
        f.budget.give_back(5'000);
    }
}

TEST_CASE("a body that all of the budget could not hold: 413") {
    for (const std::string& request : {post("/", pattern(20'001)), chunked("/", to_chunks(pattern(20'001), 1000))}) {
        session_fixture f({}, 20'000);
        f.feed(request + get("/never"));
        check_refusal(f, 413);
        CHECK(f.handler.refused.at(0).message.find("20000") != std::string::npos);
    }
}

TEST_CASE("a body takes the budget as it arrives, not as it is announced") {
    session_fixture f({}, std::size_t{8} << 20);
    f.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n");
    f.session->prepare();
    CHECK(f.budget.used() <= 65'536);
    f.feed(pattern(1'000'000));
    f.session->prepare();
    CHECK(f.budget.used() >= 1'000'000);
    CHECK(f.budget.used() <= 2'048'576 + 65'536);
}

TEST_CASE("a body waits for the budget without being read, and goes on when there are bytes again") {
    const std::string body = pattern(200'000);
    for (const std::string& request : {post("/", body), chunked("/", to_chunks(body, 1000))}) {
        session_fixture f({}, 300'000);
        REQUIRE(f.budget.try_take(200'000));
        std::size_t fed = f.feed(request);
        CHECK(fed < request.size());
        CHECK(f.session->prepare().empty());
        CHECK(f.session->deadline() == no_deadline);  // it is not the peer who is slow
        CHECK(f.handler.refused.empty());
        f.now += 1h;
        const int changes = f.host.changes;
        f.budget.give_back(200'000);
        f.host.executor.run_all();
        CHECK(f.host.changes > changes);
        CHECK(f.session->deadline() == f.now + f.bounds.body_progress_timeout);
        fed += f.feed(std::string_view(request).substr(fed));
        CHECK(fed == request.size());
        REQUIRE(f.handler.seen.size() == 1);
        CHECK(f.handler.seen[0].body == body);
    }
}

TEST_CASE("half bodies do not wait for each other: one is refused, the other goes on") {
    const std::string body = pattern(200'000);
    for (const std::string& request : {post("/", body), chunked("/", to_chunks(body, 1000))}) {
        session_fixture f({}, 300'000);
        fake_host second_host;
        auto second = std::make_unique<http1::http1_session>(f.context, second_host, f.now);
        const auto feed_second = [&](std::string_view bytes) {
            std::size_t taken = 0;
            for (std::span<std::byte> room = second->prepare(); taken < bytes.size() && !room.empty();
                 room = second->prepare()) {
                const std::size_t n = std::min(room.size(), bytes.size() - taken);
                std::memcpy(room.data(), bytes.data() + taken, n);
                second->received(n, f.now);
                taken += n;
            }
            return taken;
        };
        std::size_t fed = f.feed(std::string_view(request).substr(0, 150'000));
        feed_second(request);
        REQUIRE(f.handler.refused.size() == 1);
        CHECK(f.handler.refused[0].code == errc::unavailable);
        second->peer_gone();
        CHECK(second->quiet());
        second.reset();
        f.host.executor.run_all();
        fed += f.feed(std::string_view(request).substr(fed));
        CHECK(fed == request.size());
        REQUIRE(f.handler.seen.size() == 1);
        CHECK(f.handler.seen[0].body == body);
    }
}

TEST_CASE("a body that waits for the budget ends with its connection, and when the server stops") {
    for (const bool drained : {false, true}) {
        session_fixture f({}, 300'000);
        REQUIRE(f.budget.try_take(200'000));
        f.feed(post("/", pattern(200'000)));
        CHECK(f.session->prepare().empty());
        if (drained) {
            f.session->drain(f.now);
            CHECK(f.answers().at(0).status == 503);
        } else {
            f.session->peer_gone();
            CHECK(f.session->quiet());
        }
        f.session->prepare();
        CHECK(f.budget.used() == 200'000);
        f.budget.give_back(200'000);
        CHECK(f.host.executor.posted.empty());
    }
}

TEST_CASE("a session whose wait has ended is not quiet before it knows") {
    session_fixture f({}, 300'000);
    REQUIRE(f.budget.try_take(200'000));
    f.feed(post("/", pattern(200'000)));
    CHECK(f.session->prepare().empty());
    f.budget.give_back(200'000);
    f.session->peer_gone();
    CHECK_FALSE(f.session->quiet());
    f.host.executor.run_all();
    CHECK(f.session->quiet());
}

TEST_CASE("a chunked body never holds more of the budget than its limit") {
    session_fixture f(with_body_limit(20'000), 20'000);
    f.feed(chunked("/", to_chunks(pattern(20'000), 700)));
    REQUIRE(f.handler.seen.size() == 1);
    CHECK(f.budget.used() == 20'000);
}

TEST_CASE("no budget for the answer: 503 instead of it, and the connection goes on") {
    session_fixture f({}, 1'000);
    f.feed(get("/0") + get("/1"));
    f.handler.answer(0, std::string(1'025, 'x'));
    f.handler.answer(0, "fits");
    const auto answers = f.answers();
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].status == 503);
    CHECK(answers[0].body == f.handler.refused.at(0).message);
    CHECK(answers[1].body == "fits");
    CHECK_FALSE(f.session->send_side_over());
}

TEST_CASE("a header over the limit: 431") {
    limits l;
    l.max_header_bytes = 8'000;
    const std::string long_line = get("/", "X: " + std::string(8'000, 'x') + "\r\n");
    std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
    for (int i = 0; i < 1'000; ++i) many += "X: 12345\r\n";
    for (const std::string& bytes : {long_line, many, std::string(9'000, 'G')})
        for (const std::size_t piece : {std::string::npos, std::size_t{1}, std::size_t{97}}) {
            session_fixture f(l);
            f.feed(bytes, piece);
            check_refusal(f, 431);
        }
}

TEST_CASE("what is buffered of a header, a chunk's line or a trailer is bounded") {
    limits l;
    l.max_header_bytes = 8'000;
    const std::string head = chunked("/", "");
    for (const std::string& before :
         {std::string(), std::string("GET / HTTP/1.1\r\nX: "), head + "1;", head + "0\r\nX: "}) {
        session_fixture f(l);
        f.feed(before);
        const std::string endless(1'000, 'a');
        std::size_t fed = 0;
        while (f.handler.refused.empty() && fed < 1'000'000) fed += f.feed(endless, 100);
        CHECK(fed < 20'000);
        CHECK(f.handler.refused.size() == 1);
    }
}

TEST_CASE("the client that waits for 100 Continue gets it, and then its answer") {
    for (const bool in_chunks : {false, true}) {
        session_fixture f;
        const std::string request = in_chunks
                                        ? chunked("/", "", expecting)
                                        : "POST / HTTP/1.1\r\nHost: h\r\n" + expecting + "Content-Length: 4\r\n\r\n";
        f.feed(request);
        CHECK(f.host.changes > 0);
        f.send_all();
        CHECK(f.output == "HTTP/1.1 100 Continue\r\n\r\n");
        f.feed(in_chunks ? to_chunks("body", 2) : "body");
        REQUIRE(f.handler.seen.size() == 1);
        CHECK(f.handler.seen[0].body == "body");
        f.handler.answer(0, "done");
        const auto answers = f.answers();
        REQUIRE(answers.size() == 2);
        CHECK(answers[0].status == 100);
        CHECK(answers[1].body == "done");
    }
}

TEST_CASE("100 Continue leaves behind earlier answers, never among them") {
    session_fixture f;
    f.feed(get("/0") + "POST /1 HTTP/1.1\r\nHost: h\r\n" + expecting + "Content-Length: 4\r\n\r\n");
    f.send_all();
    CHECK(f.output.empty());
    f.handler.answer(0, "0");
    auto answers = f.answers();
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].body == "0");
    CHECK(answers[1].status == 100);
    f.feed("body");
    f.handler.answer(0, "1");
    answers = f.answers();
    REQUIRE(answers.size() == 3);
    CHECK(answers[2].body == "1");
}

TEST_CASE("no 100 Continue when the body comes with the header or before its turn") {
    {
        session_fixture f;
        f.handler.answers_at_once = true;
        f.feed(post("/", "body", expecting));
        CHECK(f.answers().size() == 1);
    }
    session_fixture f;
    f.feed(get("/0") + "POST /1 HTTP/1.1\r\nHost: h\r\n" + expecting + "Content-Length: 4\r\n\r\n");
    f.feed("body");
    f.handler.answer(0, "0");
    f.send_all();
    // The second request is in a long run: nothing is to be sent, so no write is late.
    CHECK(f.session->deadline() == no_deadline);
    f.handler.answer(0, "1");
    const auto answers = f.answers();
    REQUIRE(answers.size() == 2);
    CHECK(answers[1].body == "1");
}

TEST_CASE("a 100 Continue of which a part has left is finished") {
    const std::string line = "HTTP/1.1 100 Continue\r\n\r\n";
    for (std::size_t cut = 1; cut < line.size(); ++cut) {
        CAPTURE(cut);
        session_fixture f;
        f.feed("POST / HTTP/1.1\r\nHost: h\r\n" + expecting + "Content-Length: 4\r\n\r\n");
        CHECK(f.send_some(cut) == cut);
        f.feed("body");
        f.handler.answer(0, "done");
        const auto answers = f.answers();
        REQUIRE(answers.size() == 2);
        CHECK(answers[0].status == 100);
        CHECK(answers[1].body == "done");
    }
}

TEST_CASE("a refused expectation is answered without 100 Continue") {
    session_fixture big(with_body_limit(10));
    big.feed("POST / HTTP/1.1\r\nHost: h\r\n" + expecting + "Content-Length: 11\r\n\r\n");
    check_refusal(big, 413);
    session_fixture other;
    other.feed("POST / HTTP/1.1\r\nHost: h\r\nExpect: else\r\nContent-Length: 1\r\n\r\n");
    check_refusal(other, 417);
}
