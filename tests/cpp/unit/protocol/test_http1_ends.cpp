#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "unit/protocol/http1_fakes.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;
using namespace std::chrono_literals;

namespace {

using texts = std::vector<std::string>;

const std::string half_body = "POST /half HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc";
const std::string half_chunks = chunked("/half", "5\r\nhe");

}  // namespace

// The clock

TEST_CASE("a connection on which nothing comes is closed without a word") {
    session_fixture f;
    f.pass_deadline(f.bounds.idle_timeout);
    CHECK(f.session->over());
    CHECK(f.output.empty());
    CHECK(f.handler.refused.empty());
}

TEST_CASE("idle time begins again when an answer has left, and only then") {
    session_fixture f;
    f.feed(get("/"));
    CHECK(f.session->deadline() == no_deadline);  // the run takes as long as it takes
    f.now += 1h;
    f.handler.answer(0, "x");
    f.now += 1s;
    f.send_all();
    f.pass_deadline(f.bounds.idle_timeout);
    CHECK(f.session->over());
}

TEST_CASE("the header has its time from its first byte, and more bytes do not prolong it") {
    session_fixture f;
    f.now += 20s;
    f.feed("GET / HT");
    f.now += 4s;
    f.feed("TP/1.1\r\nHost: ");
    CHECK(f.session->deadline() == f.now + f.bounds.header_timeout - 4s);
    f.now += 4s;
    f.feed("h\r\n");
    f.pass_deadline(f.bounds.header_timeout - 8s);
    const auto answers = f.answers();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].status == 408);
    CHECK(answers[0].header("connection") == "close");
    f.feed("\r\n");
    CHECK(f.handler.seen.empty());
}

TEST_CASE("the time of the next header begins with its first byte, behind requests that still run") {
    session_fixture f;
    f.feed(get("/0"));
    f.now += 50s;
    f.feed("GET /1");
    f.pass_deadline(f.bounds.header_timeout);
    CHECK(f.handler.refused.at(0).code == errc::request_timeout);
    f.handler.answer(0, "0");
    const auto answers = f.answers();
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].body == "0");
    CHECK(answers[1].status == 408);
}

TEST_CASE("a body may take long if it makes progress") {
    limits l;
    l.min_bytes_per_s = 0;
    for (const std::string& half : {half_body, half_chunks}) {
        session_fixture f(l);
        f.feed(half);
        for (int i = 0; i < 3; ++i) {
            f.now += f.bounds.body_progress_timeout - 1ms;
            f.feed("x");
        }
        CHECK(f.handler.refused.empty());
        f.pass_deadline(f.bounds.body_progress_timeout);
        const auto answers = f.answers();
        REQUIRE(answers.size() == 1);
        CHECK(answers[0].status == 408);
    }
}

TEST_CASE("a body that comes slower than the least rate is given up, however steadily") {
    limits l;
    l.min_bytes_per_s = 100;
    session_fixture f(l);
    const time_point begin = f.now;
    f.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
    while (f.handler.refused.empty()) {
        f.now += 1s;
        if (f.session->deadline() <= f.now)
            f.session->deadline_passed(f.now);
        else
            f.feed(std::string(50, 'x'));  // half of the rate: patience lasts twice as long
    }
    CHECK(f.handler.refused[0].code == errc::request_timeout);
    CHECK(f.now - begin == 2 * f.bounds.body_progress_timeout - 1s);
}

TEST_CASE("a body that comes at the least rate may take for ever") {
    limits l;
    l.min_bytes_per_s = 100;
    session_fixture f(l);
    f.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n");
    for (int i = 0; i < 1'000; ++i) {
        f.now += 1s;
        REQUIRE(f.session->deadline() > f.now);
        f.feed(std::string(100, 'x'));
    }
    CHECK(f.handler.seen.size() == 1);
}

TEST_CASE("a read may be under way into a body whose time is over") {
    session_fixture f;
    f.feed(half_body);
    const std::span<std::byte> room = f.session->prepare();
    f.pass_deadline(f.bounds.body_progress_timeout);
    std::fill(room.begin(), room.end(), std::byte{1});  // the memory is still there
    f.session->received(room.size(), f.now);
    CHECK(f.handler.seen.empty());
    CHECK(f.budget.used() >= room.size());
    CHECK_FALSE(f.session->prepare().empty());  // the next read goes elsewhere
    CHECK(f.answers().size() == 1);
    CHECK(f.budget.used() == 0);
}

TEST_CASE("a read may be under way into a body whose connection ends") {
    for (const bool drained : {false, true}) {
        session_fixture f;
        f.feed(half_body);
        const std::span<std::byte> room = f.session->prepare();
        if (drained)
            f.session->drain(f.now);
        else
            f.session->peer_gone();
        std::fill(room.begin(), room.end(), std::byte{1});
    }
}

TEST_CASE("a peer that does not take its answer is given up") {
    session_fixture f;
    f.feed(get("/") + get("/1"));
    f.handler.answer(0, std::string(100'000, 'x'));
    CHECK(f.send_some(10) == 10);
    CHECK(f.session->deadline() == f.now + f.bounds.write_progress_timeout);
    f.now += 20s;
    CHECK(f.send_some(30 * f.bounds.min_bytes_per_s) > 10);  // progress
    CHECK(f.session->deadline() == f.now + f.bounds.write_progress_timeout);
    f.now += 20s;
    f.session->sent(0, f.now);  // none
    f.pass_deadline(f.bounds.write_progress_timeout - 20s);
    CHECK(f.session->over());
    CHECK(f.handler.cancellations == 1);  // the second, which runs
    CHECK(f.send_some() == 0);
}

TEST_CASE("a peer that takes nothing from the beginning is given up, too") {
    session_fixture f;
    f.feed(get("/"));
    f.handler.answer(0, "x");
    f.session->sent(0, f.now);
    f.pass_deadline(f.bounds.write_progress_timeout);
    CHECK(f.session->over());
}

TEST_CASE("a deadline that has moved is no deadline") {
    session_fixture f;
    f.feed("GET /");
    const time_point first = f.session->deadline();
    f.feed(get("").substr(4));
    REQUIRE(f.handler.open.size() == 1);
    f.session->deadline_passed(first);
    CHECK_FALSE(f.session->over());
    CHECK(f.handler.refused.empty());
}

TEST_CASE("a refused peer is read on for a while, so that it sees the answer") {
    session_fixture f;
    f.feed("BAD\r\n\r\n");
    CHECK_FALSE(f.session->send_side_over());
    f.send_all();
    CHECK(f.session->send_side_over());
    CHECK_FALSE(f.session->over());
    f.now += 3s;
    f.feed(std::string(100'000, 'x'));  // does not prolong it
    f.pass_deadline(f.bounds.linger_timeout - 3s);
    CHECK(f.session->over());
}

// The peer

TEST_CASE("a peer that closes its side between requests") {
    session_fixture f;
    f.session->peer_finished(f.now);
    CHECK(f.session->over());
}

TEST_CASE("a peer that closes its side gets all its answers") {
    session_fixture f;
    f.feed(get("/0") + get("/1"));
    f.session->peer_finished(f.now);
    CHECK(f.session->prepare().empty());
    CHECK_FALSE(f.session->over());
    CHECK_FALSE(f.session->send_side_over());
    CHECK(f.handler.cancellations == 0);
    f.handler.answer(1, "1");
    f.handler.answer(0, "0");
    CHECK(f.answers().size() == 2);
    CHECK(f.session->over());
}

TEST_CASE("a peer that closes its side within a request is not answered for it") {
    for (const std::string& half : {std::string("GET /h"), std::string("GET / HTTP/1.1\r\nHost: h\r\n"), half_body,
                                    half_chunks, chunked("/", "5\r\nhello\r\n0\r\nX:")}) {
        CAPTURE(half);
        session_fixture f;
        f.feed(get("/0") + half);
        f.session->peer_finished(f.now);
        CHECK_FALSE(f.session->over());
        f.handler.answer(0, "0");
        CHECK(f.answers().size() == 1);
        CHECK(f.session->over());
        CHECK(f.targets() == texts{"/0"});
        CHECK(f.handler.refused.empty());
    }
}

TEST_CASE("a peer that closes its side while it lingers") {
    session_fixture f;
    f.feed("BAD\r\n\r\n");
    f.session->peer_finished(f.now);
    CHECK_FALSE(f.session->over());  // the answer has not left
    CHECK(f.answers().size() == 1);
    CHECK(f.session->over());
}

TEST_CASE("a connection that breaks cancels what runs, each once, and is quiet when all has come back") {
    session_fixture f;
    f.feed(get("/0") + get("/1") + get("/2") + half_body);
    f.handler.answer(1, "1");
    f.session->peer_gone();
    CHECK(f.session->over());
    CHECK_FALSE(f.session->send_side_over());
    CHECK(f.session->deadline() == no_deadline);
    CHECK(f.session->prepare().empty());
    CHECK(f.handler.cancellations == 2);
    CHECK_FALSE(f.session->quiet());
    f.session->peer_gone();
    CHECK(f.handler.cancellations == 2);

    f.host.changes = 0;
    f.handler.answer(1, "2");
    CHECK(f.host.changes == 1);
    CHECK_FALSE(f.session->quiet());
    f.handler.answer(0, "0");
    CHECK(f.host.changes == 2);
    CHECK(f.session->quiet());
    CHECK(f.send_some() == 0);
    CHECK(f.output.empty());
}

TEST_CASE("operations may complete inside their cancellation") {
    session_fixture f;
    f.handler.complete_on_cancel = true;
    f.feed(get("/0") + get("/1") + get("/2"));
    f.session->peer_gone();
    CHECK(f.handler.cancellations == 3);
    CHECK(f.handler.open.empty());
    CHECK(f.session->quiet());
}

TEST_CASE("a connection breaks in every state") {
    struct state {
        const char* name;
        std::function<void(session_fixture&)> reach;
        int running;
    };
    const state states[] = {
        {"idle", [](auto&) {}, 0},
        {"in a header", [](auto& f) { f.feed("GET /"); }, 0},
        {"in a body", [](auto& f) { f.feed(half_body); }, 0},
        {"in chunks", [](auto& f) { f.feed(half_chunks); }, 0},
        {"before 100 Continue", [](auto& f) { f.feed(chunked("/", "", "Expect: 100-continue\r\n")); }, 0},
        {"in 100 Continue",
         [](auto& f) {
             f.feed(chunked("/", "", "Expect: 100-continue\r\n"));
             f.send_some(5);
         },
         0},
        {"running", [](auto& f) { f.feed(post("/", "body")); }, 1},
        {"answered",
         [](auto& f) {
             f.feed(get("/"));
             f.handler.answer(0, "x");
         },
         0},
        {"within an answer",
         [](auto& f) {
             f.feed(get("/") + get("/1"));
             f.handler.answer(0, std::string(100'000, 'x'));
             f.send_some(50'000);
         },
         1},
        {"half closed",
         [](auto& f) {
             f.feed(get("/"));
             f.session->peer_finished(f.now);
         },
         1},
        {"draining",
         [](auto& f) {
             f.feed(get("/"));
             f.session->drain(f.now);
         },
         1},
        {"lingering",
         [](auto& f) {
             f.feed("BAD\r\n\r\n");
             f.send_all();
         },
         0},
    };
    for (const state& each : states) {
        CAPTURE(each.name);
        session_fixture f;
        each.reach(f);
        f.output.clear();
        f.session->peer_gone();
        CHECK(f.session->over());
        CHECK(f.handler.cancellations == each.running);
        CHECK(f.session->quiet() == (each.running == 0));
        while (!f.handler.open.empty()) f.handler.answer(0, "late");
        CHECK(f.session->quiet());
        CHECK(f.send_some() == 0);
        f.session->drain(f.now);
        CHECK(f.session->over());
    }
}

// Draining

TEST_CASE("drain: an idle connection is over at once") {
    session_fixture f;
    f.session->drain(f.now);
    CHECK(f.session->over());
    CHECK(f.host.changes > 0);
}

TEST_CASE("drain: a connection that has been used is over at once, too") {
    session_fixture f;
    f.handler.answers_at_once = true;
    f.feed(get("/"));
    f.send_all();
    f.session->drain(f.now);
    CHECK(f.session->over());
    CHECK(f.answers().size() == 1);
}

TEST_CASE("a peer that takes its answer slower than the least rate is given up, however steadily") {
    session_fixture f;
    f.feed(get("/"));
    f.handler.answer(0, std::string(100'000, 'x'));
    f.send_some(10);
    const time_point begin = f.now;
    while (!f.session->over()) {
        f.now += 1s;
        if (f.session->deadline() <= f.now)
            f.session->deadline_passed(f.now);
        else
            f.send_some(1);
    }
    CHECK(f.now - begin == f.bounds.write_progress_timeout + 1s);
}

TEST_CASE("times beyond the clock do not overflow") {
    limits l;
    l.header_timeout = l.body_progress_timeout = l.idle_timeout = l.write_progress_timeout = l.linger_timeout =
        std::chrono::milliseconds::max();
    session_fixture f(l);
    CHECK(f.session->deadline() == no_deadline);
    f.feed("POST / HTTP/1.1\r\n");
    CHECK(f.session->deadline() == no_deadline);
    f.feed("Host: h\r\nContent-Length: 2\r\n\r\nx");
    CHECK(f.session->deadline() == no_deadline);
    f.feed("x");
    f.handler.answer(0, "y");
    f.send_some(1);
    CHECK(f.session->deadline() == no_deadline);
    f.send_all();
    CHECK(f.session->deadline() == no_deadline);
}

TEST_CASE("a peer that has finished is asked once whether it still waits") {
    session_fixture f;
    f.feed(get("/0") + get("/1"));
    f.session->peer_finished(f.now);
    f.pass_deadline(100ms);
    CHECK(f.answers().at(0).status == 100);
    CHECK(f.session->deadline() == no_deadline);
    CHECK(f.session->prepare().empty());
    f.handler.answer(0, "0");
    f.handler.answer(0, "1");
    const auto answers = f.answers();
    REQUIRE(answers.size() == 3);
    CHECK(answers[1].body == "0");
    CHECK(answers[2].body == "1");
    CHECK(f.session->over());
}

TEST_CASE("a peer that has finished is not asked if it is answered soon, nor one of HTTP/1.0") {
    {
        session_fixture f;
        f.feed(get("/"));
        f.session->peer_finished(f.now);
        f.handler.answer(0, "x");
        REQUIRE(f.answers().size() == 1);
        CHECK(f.session->over());
    }
    session_fixture f;
    f.feed("GET / HTTP/1.0\r\n\r\n");
    f.session->peer_finished(f.now);
    f.pass_deadline(100ms);
    CHECK(f.answers().empty());
    CHECK(f.session->deadline() == no_deadline);
    f.handler.answer(0, "x");
    CHECK(f.answers().size() == 1);
}

TEST_CASE("a peer that has finished is asked behind the answer that it is being sent") {
    session_fixture f;
    f.feed(get("/0") + get("/1"));
    f.handler.answer(0, pattern(50'000));
    f.send_some(10);
    f.session->peer_finished(f.now);
    f.pass_deadline(100ms);
    CHECK(f.answers().size() == 1);
    f.pass_deadline(100ms);
    CHECK(f.answers().at(1).status == 100);
    f.session->peer_gone();
    CHECK(f.handler.cancellations == 1);
}

TEST_CASE("retire: a connection without a request takes one more, the last") {
    session_fixture f;
    f.session->retire(f.now);
    CHECK_FALSE(f.session->over());
    f.feed(get("/ready") + get("/never"));
    f.handler.answer(0, "no");
    const auto answers = f.answers();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].header("connection") == "close");
    CHECK(f.targets() == texts{"/ready"});
    CHECK(f.session->send_side_over());
}

TEST_CASE("retire: what was received is answered, half a request is refused") {
    session_fixture f;
    f.feed(get("/0") + "GET /h");
    f.session->retire(f.now);
    CHECK(f.handler.refused.at(0).code == errc::unavailable);
    f.handler.answer(0, "0");
    const auto answers = f.answers();
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].body == "0");
    CHECK(answers[1].status == 503);
    CHECK(answers[1].header("connection") == "close");
    f.session->drain(f.now);
    f.pass_deadline(500ms);
    CHECK(f.session->over());
}

TEST_CASE("behind a last answer the connection is read until the peer closes, for a limited time") {
    for (const bool peer_closes : {true, false}) {
        session_fixture f;
        f.feed(get("/", "Connection: close\r\n"));
        f.handler.answer(0, "x");
        f.send_all();
        CHECK(f.session->send_side_over());
        CHECK_FALSE(f.session->over());
        f.feed(get("/never"));
        if (peer_closes)
            f.session->peer_finished(f.now);
        else
            f.pass_deadline(f.bounds.linger_timeout);
        CHECK(f.session->over());
        CHECK(f.targets() == texts{"/"});
    }
}

TEST_CASE("drain: a connection without a request closes at once") {
    session_fixture f;
    f.feed(get("/"));
    f.handler.answer(0, "x");
    f.send_all();
    f.session->drain(f.now);
    CHECK(f.session->over());
}

TEST_CASE("drain: what was received is answered, the last with Connection: close") {
    session_fixture f;
    f.feed(get("/0") + get("/1"));
    f.session->drain(f.now);
    CHECK_FALSE(f.session->over());
    f.feed(get("/never"));
    f.handler.answer(1, "1");
    f.handler.answer(0, "0");
    const auto answers = f.answers();
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].header("connection").empty());
    CHECK(answers[1].body == "1");
    CHECK(answers[1].header("connection") == "close");
    CHECK(f.targets() == texts{"/0", "/1"});
    CHECK(f.session->send_side_over());
}

TEST_CASE("drain: half a request is refused, behind those that run") {
    for (const std::string& half : {std::string("GET /h"), half_body, half_chunks}) {
        CAPTURE(half);
        session_fixture f;
        f.feed(get("/0") + half);
        f.session->drain(f.now);
        CHECK(f.handler.refused.at(0).code == errc::unavailable);
        f.handler.answer(0, "0");
        const auto answers = f.answers();
        REQUIRE(answers.size() == 2);
        CHECK(answers[0].body == "0");
        CHECK(answers[1].status == 503);
        CHECK(answers[1].header("connection") == "close");
        CHECK(f.targets() == texts{"/0"});
    }
}

TEST_CASE("drain: within an answer") {
    session_fixture f;
    f.feed(get("/"));
    f.handler.answer(0, pattern(50'000));
    f.send_some(25'000);
    f.session->drain(f.now);
    CHECK_FALSE(f.session->over());
    const auto answers = f.answers();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].body == pattern(50'000));
    CHECK(f.session->send_side_over());
}

TEST_CASE("drain: requests that wait at the limit are dropped") {
    limits l;
    l.max_pipelined_requests = 1;
    session_fixture f(l);
    f.feed(get("/0") + get("/1"));
    f.session->drain(f.now);
    f.handler.answer(0, "0");
    const auto answers = f.answers();
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].header("connection") == "close");
    CHECK(f.targets() == texts{"/0"});
    CHECK(f.session->send_side_over());
    f.session->peer_finished(f.now);
    CHECK(f.session->over());
}

TEST_CASE("drain: a half-closed connection is still answered") {
    session_fixture f;
    f.feed(get("/0"));
    f.session->peer_finished(f.now);
    f.session->drain(f.now);
    f.handler.answer(0, "0");
    CHECK(f.answers().size() == 1);
    CHECK(f.session->over());
}

TEST_CASE("drain: a refused connection goes on lingering; a second drain changes nothing") {
    session_fixture f;
    f.feed("BAD\r\n\r\n");
    f.session->drain(f.now);
    f.session->drain(f.now);
    CHECK(f.answers().size() == 1);
    CHECK(f.session->send_side_over());
    f.pass_deadline(500ms);
    CHECK(f.session->over());
}
