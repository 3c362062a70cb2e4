#include <doctest/doctest.h>
#include <asio_infer/server.hpp>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/server_fixture.hpp"
#include "support/test_client.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;
using namespace std::chrono_literals;

namespace {

const std::string live = "GET /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n";

std::string post(const std::string& path, const std::string& body, const std::string& more = {}) {
    return "POST " + path + " HTTP/1.1\r\nHost: h\r\n" + more + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

std::string ask_echo(int number, const std::string& model = "echo") {
    return post("/v2/models/" + model + "/infer", infer_body(std::to_string(number), 1));
}

bool echoes(const http_answer& answer, int number) {
    return answer.status == 200 && answer.body.find("\"data\":[" + std::to_string(number) + ".0]") != std::string::npos;
}

/// The exception that the function throws.
std::optional<error> thrown_by(const std::function<void()>& function) {
    try {
        function();
    } catch (const exception& e) {
        return error{e.code(), e.what()};
    }
    return std::nullopt;
}

struct echo_server : server_fixture {
    explicit echo_server(server_options o = {}, string_map backend_options = {}) : server_fixture(std::move(o)) {
        running.register_model(echo_model("echo", std::move(backend_options)));
        running.start();
    }
    test_client connect() const { return test_client(running.port()); }
    /// All that clients left behind is gone, and the server still answers.
    void check_clean() {
        CHECK(eventually([&] { return metric("asio_infer_connections_open") == 0; }));
        CHECK(metric("asio_infer_inflight_bytes") == 0);
        CHECK(eventually([&] { return runs("echo") == 0; }));  // a run that was stopped ends by itself
        CHECK(queued("echo") == 0);
        CHECK(echoes(connect().ask(ask_echo(77)), 77));
    }
};

constexpr auto no_limit = 1h;

template <class Function>
clock::duration time_of(Function&& function) {
    const time_point start = clock::now();
    function();
    return clock::now() - start;
}

}  // namespace

TEST_CASE("one connection carries many requests") {
    echo_server s;
    test_client client = s.connect();
    for (int i = 0; i < 20; ++i) CHECK(echoes(client.ask(ask_echo(i)), i));
    CHECK(client.ask(live).body == R"({"live":true})");
    client.send("HEAD /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(client.read(true).status == 200);
    CHECK(client.ask(live).status == 200);
    CHECK(s.metric("asio_infer_connections_accepted_total") == 1);
}

TEST_CASE("pipelined requests are answered in order") {
    echo_server s;
    test_client client = s.connect();
    std::string requests;
    for (int i = 0; i < 200; ++i) requests += i % 10 == 3 ? live : ask_echo(i);
    client.send(requests);
    for (int i = 0; i < 200; ++i) {
        const http_answer answer = client.read();
        if (i % 10 == 3)
            CHECK(answer.body == R"({"live":true})");
        else
            CHECK(echoes(answer, i));
    }
}

TEST_CASE("a body of megabytes in and out, with a length and in chunks") {
    echo_server s;
    constexpr std::size_t count = 3'000'001;
    std::string tensor(count * 4, '\0');
    for (std::size_t i = 0; i < count; ++i) {
        const float value = static_cast<float>(i);
        std::memcpy(tensor.data() + 4 * i, &value, 4);
    }
    const std::string json = R"({"parameters":{"binary_data_output":true},"inputs":[{"name":"INPUT0","shape":[1,)" +
                             std::to_string(count) + R"(],"datatype":"FP32","parameters":{"binary_data_size":)" +
                             std::to_string(tensor.size()) + "}}]}";
    const std::string header = "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n";
    const std::string path = "/v2/models/echo/infer";
    test_client client = s.connect();

    std::string chunks;
    const std::string body = json + tensor;
    for (std::size_t at = 0; at < body.size(); at += 1'000'000) {
        const std::string part = body.substr(at, 1'000'000);
        char size[16];
        std::snprintf(size, sizeof size, "%zx\r\n", part.size());
        chunks += size + part + "\r\n";
    }
    for (const std::string& request :
         {post(path, body, header), "POST " + path + " HTTP/1.1\r\nHost: h\r\n" + header +
                                        "Transfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n"}) {
        const http_answer answer = client.ask(request);
        REQUIRE(answer.status == 200);
        const std::size_t text = std::stoul(answer.header("inference-header-content-length"));
        CHECK(answer.body.substr(text) == tensor);
    }
    CHECK(eventually([&] { return s.metric("asio_infer_inflight_bytes") == 0; }));
}

TEST_CASE("an answer that is larger than the socket's buffers waits for its reader") {
    echo_server s;
    test_client client = s.connect();
    std::string numbers = "0";
    for (int i = 1; i < 500'000; ++i) numbers += ',' + std::to_string(i);
    const std::string request = post("/v2/models/echo/infer", infer_body(numbers, 500'000));
    for (int i = 0; i < 3; ++i) client.send(request);  // nothing is read meanwhile
    CHECK(eventually([&] { return s.runs("echo") == 0 && s.queued("echo") == 0; }));
    for (int i = 0; i < 3; ++i) {
        const http_answer answer = client.read();
        CHECK(answer.status == 200);
        CHECK(answer.body.find("499998.0,499999.0]") != std::string::npos);
    }
}

TEST_CASE("100 Continue") {
    echo_server s;
    test_client client = s.connect();
    const std::string request = post("/v2/models/echo/infer", infer_body("5", 1), "Expect: 100-continue\r\n");
    const std::size_t head = request.find("\r\n\r\n") + 4;
    client.send(request.substr(0, head));
    CHECK(client.read().status == 100);
    client.send(request.substr(head));
    CHECK(echoes(client.read(), 5));
}

TEST_CASE("a client that sends all of a body that is too large before it reads gets its 413") {
    server_options o;
    o.limits.max_body_bytes = 100'000;
    echo_server s(std::move(o));
    test_client client = s.connect();
    const http_answer answer = client.ask(post("/v2/models/echo/infer", std::string(20'000'000, 'x')));
    CHECK(answer.status == 413);
    CHECK(answer.header("connection") == "close");
    CHECK(client.ends());
}

TEST_CASE("clients that are slow are told so; what they send later goes nowhere") {
    server_options o;
    o.limits.header_timeout = 1ms;
    o.limits.body_progress_timeout = 1ms;
    echo_server s(std::move(o));
    for (const std::string& half : {std::string("GET /"), std::string("POST / HTTP/1.1\r\nHost: h\r\n"
                                                                      "Content-Length: 100000\r\n\r\nabc")}) {
        test_client client = s.connect();
        client.send(half);
        const http_answer answer = client.read();
        CHECK(answer.status == 408);
        CHECK(answer.header("connection") == "close");
        client.send(std::string(200'000, 'x'));
        CHECK(client.ends());
    }
}

TEST_CASE("clients that leave in the middle take nothing with them") {
    echo_server s({}, {{"delay_s", "0.05"}});
    const std::string request = ask_echo(1);
    for (const std::size_t cut : {std::size_t{3}, std::size_t{40}, request.size() - 3, request.size()}) {
        CAPTURE(cut);
        {
            test_client reset = s.connect();
            reset.send(request + request.substr(0, cut));
            CHECK(eventually([&] { return s.runs("echo") > 0; }));
            reset.reset();
            test_client closed = s.connect();
            closed.send(request.substr(0, cut));
        }
        s.check_clean();
    }
    // Nobody reads the answer, and there is more of it than fits.
    std::string numbers = "0";
    for (int i = 1; i < 300'000; ++i) numbers += ",0.5";
    for (int i = 0; i < 3; ++i) {
        test_client client = s.connect();
        client.send(post("/v2/models/echo/infer", infer_body(numbers, 300'000)));
        CHECK(eventually([&] { return s.metric("asio_infer_connections_open") > 0; }));
        client.reset();
    }
    s.check_clean();
}

TEST_CASE("a client that has only closed its sending side gets its answers") {
    echo_server s({}, {{"delay_s", "0.05"}});
    test_client client = s.connect();
    client.send(ask_echo(1) + ask_echo(2) + live.substr(0, 10));
    client.finish_sending();
    CHECK(echoes(client.read(), 1));
    CHECK(echoes(client.read(), 2));
    CHECK(client.ends());
    s.check_clean();
}

TEST_CASE("connections over the limit are closed; a place that is free again is taken") {
    server_options o;
    o.limits.max_connections = 2;
    echo_server s(std::move(o));
    auto first = std::make_unique<test_client>(s.running.port());
    test_client second = s.connect();
    CHECK(first->ask(live).status == 200);
    CHECK(second.ask(live).status == 200);
    test_client third = s.connect();
    CHECK(third.ends());
    CHECK(s.metric("asio_infer_connections_refused_total") == 1);
    first.reset();
    CHECK(eventually([&] { return s.metric("asio_infer_connections_open") == 1; }));
    test_client fourth = s.connect();
    CHECK(fourth.ask(live).status == 200);
}

// Models and calls from this process

TEST_CASE("models come and go while the server runs") {
    echo_server s;
    test_client client = s.connect();
    CHECK(client.ask(ask_echo(1, "late")).status == 404);
    s.running.register_model(echo_model("late"));
    CHECK(echoes(client.ask(ask_echo(1, "late")), 1));

    const auto again = thrown_by([&] { s.running.register_model(echo_model("late")); });
    REQUIRE(again);
    CHECK(again->code == errc::already_exists);
    model_options replacing = echo_model("late", {{"fail", "always"}});
    replacing.replace = true;
    replacing.warmup = false;
    s.running.register_model(replacing);
    CHECK(client.ask(ask_echo(1, "late")).status == 500);

    s.running.unregister_model("late", std::nullopt);
    CHECK(client.ask(ask_echo(1, "late")).status == 404);
    CHECK(thrown_by([&] { s.running.unregister_model("late", std::nullopt); })->code == errc::not_found);
}

TEST_CASE("calls from this process run beside those of the network") {
    echo_server s;
    constexpr int calls = 300;
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (const bool waits : {false, true})
        threads.emplace_back([&, waits] {
            waiting_receiver receiver;
            for (int i = 0; i < calls; ++i) {
                s.running.infer(echo_call(receiver, {static_cast<float>(i)}), "echo", std::nullopt, waits);
                const infer_call_ptr back = receiver.next();
                if (back && echo_of(*back) == std::vector<float>{static_cast<float>(i)}) ++right;
            }
        });
    threads.emplace_back([&] {
        test_client client = s.connect();
        for (int i = 0; i < calls; ++i)
            if (echoes(client.ask(ask_echo(i)), i)) ++right;
    });
    for (std::thread& each : threads) each.join();
    CHECK(right == 3 * calls);
}

TEST_CASE("calls that cannot be: each comes back with the reason") {
    server_fixture s;
    s.running.register_model(echo_model("echo"));
    waiting_receiver receiver;
    const auto code_of = [&](const std::string& model, infer_call_ptr call) {
        s.running.infer(std::move(call), model, std::nullopt, false);
        const infer_call_ptr back = receiver.next();
        REQUIRE(back);
        REQUIRE(back->outcome.has_error());
        return back->outcome.error().code;
    };
    CHECK(code_of("echo", echo_call(receiver, {1})) == errc::unavailable);
    s.running.start();
    CHECK(code_of("unknown", echo_call(receiver, {1})) == errc::not_found);
    auto unknown_input = echo_call(receiver, {1});
    unknown_input->request.inputs[0].name = "nope";
    CHECK(code_of("echo", std::move(unknown_input)) == errc::invalid_request);
    s.running.stop(no_limit);
    CHECK(code_of("echo", echo_call(receiver, {1})) == errc::unavailable);
}

TEST_CASE("calls that wait and calls that run can be cancelled") {
    echo_server s({}, {{"delay_s", "60"}});
    waiting_receiver runner, waiter;
    served_model& echo = **s.running.find("echo", std::nullopt);
    s.running.infer(echo_call(runner, {1}), "echo", std::nullopt, false);
    s.running.infer(echo_call(waiter, {2}), "echo", std::nullopt, false);
    CHECK(s.queued("echo") == 1);
    for (waiting_receiver* each : {&waiter, &runner}) {
        s.running.cancel(echo, *each);
        const infer_call_ptr back = each->next();
        REQUIRE(back);
        CHECK(back->outcome.error().code == errc::cancelled);
    }
    CHECK(eventually([&] { return s.runs("echo") == 0; }));
}

TEST_CASE("a call comes back at its deadline though its run would take longer") {
    echo_server s({}, {{"delay_s", "60"}});
    waiting_receiver receiver;
    infer_call_ptr call = echo_call(receiver, {1});
    call->deadline = clock::now() + std::chrono::milliseconds(20);
    s.running.infer(std::move(call), "echo", std::nullopt, true);
    const infer_call_ptr back = receiver.next();
    REQUIRE(back);
    CHECK(back->outcome.error().code == errc::deadline_exceeded);
    CHECK(eventually([&] { return s.runs("echo") == 0; }));
}

// Start and stop

TEST_CASE("a server that stops finishes what it has received") {
    echo_server s({}, {{"delay_s", "0.2"}});
    test_client idle = s.connect();
    CHECK(idle.ask(live).status == 200);
    test_client client = s.connect();
    client.send(ask_echo(1) + ask_echo(2));
    CHECK(eventually([&] { return s.runs("echo") + s.queued("echo") == 2; }));

    std::thread stopping([&] { s.running.stop(no_limit); });
    CHECK(idle.ends());
    CHECK(eventually([&] { return !s.running.ready(); }));
    CHECK(echoes(client.read(), 1));
    const http_answer last = client.read();
    CHECK(echoes(last, 2));
    CHECK(last.header("connection") == "close");
    CHECK(client.ends());
    stopping.join();
    CHECK_FALSE(s.running.running());
    CHECK_THROWS(s.connect());
}

TEST_CASE("calls from this process are finished, too") {
    echo_server s({}, {{"delay_s", "0.2"}});
    waiting_receiver receiver;
    s.running.infer(echo_call(receiver, {7}), "echo", std::nullopt, false);
    s.running.stop(no_limit);
    REQUIRE(receiver.waiting() == 1);
    CHECK(echo_of(*receiver.next()) == std::vector<float>{7});
}

TEST_CASE("what does not end within the limit is answered 503, running or not") {
    echo_server s({}, {{"delay_s", "3600"}});
    test_client client = s.connect();
    client.send(ask_echo(1));
    CHECK(eventually([&] { return s.runs("echo") == 1; }));
    client.send(ask_echo(2));
    CHECK(eventually([&] { return s.queued("echo") == 1; }));
    waiting_receiver receiver;
    s.running.infer(echo_call(receiver, {7}), "echo", std::nullopt, false);
    CHECK(time_of([&] { s.running.stop(50ms); }) < 5s);
    CHECK(client.read().status == 503);
    CHECK(client.read().status == 503);
    CHECK(client.ends());
    const infer_call_ptr back = receiver.next();
    REQUIRE(back);
    CHECK(back->outcome.error().code == errc::unavailable);
}

TEST_CASE("a stop that runs is cut short by force, or by a stop with a smaller limit") {
    for (const bool by_force : {true, false}) {
        echo_server s({}, {{"delay_s", "3600"}});
        test_client client = s.connect();
        client.send(ask_echo(1));
        CHECK(eventually([&] { return s.runs("echo") == 1; }));
        std::thread stopping([&] { s.running.stop(no_limit); });
        CHECK(eventually([&] { return !s.running.running(); }));
        const auto took = time_of([&] {
            if (by_force)
                s.running.force_stop();
            else
                s.running.stop(0ms);
            stopping.join();
        });
        CHECK(took < 5s);
        CHECK(client.read().status == 503);
    }
}

TEST_CASE("an idle server stops at once, with connections open") {
    echo_server s;
    test_client first = s.connect();
    CHECK(first.ask(live).status == 200);
    test_client second = s.connect();
    CHECK(eventually([&] { return s.metric("asio_infer_connections_open") == 2; }));
    CHECK(time_of([&] { s.running.stop(no_limit); }) < 300ms);
    CHECK(first.ends());
    CHECK(second.ends());
    CHECK(s.metric("asio_infer_connections_open") == 0);
    CHECK(time_of([&] { s.running.stop(no_limit); }) < 300ms);  // again: nothing to do
}

namespace {

/// A port that nobody gets by chance, below those that systems give away: another process that runs these tests begins
/// to search elsewhere.
std::uint16_t fixed_port(const std::function<bool(std::uint16_t)>& take) {
    const auto first = static_cast<std::uint16_t>(20'000 + std::random_device{}() % 8'000);
    for (std::uint16_t port = first; port < first + 1'000; ++port)
        if (take(port)) return port;
    return 0;
}

}  // namespace

TEST_CASE("100 starts and stops on one port") {
    std::unique_ptr<server> s;
    server_options o;
    o.io_threads = 2;
    o.port = fixed_port([&](std::uint16_t port) {
        o.port = port;
        s = std::make_unique<server>(o, std::make_shared<quiet_log>());
        return !thrown_by([&] { s->start(); });
    });
    REQUIRE(o.port != 0);
    s->register_model(echo_model("echo"));
    for (int i = 0; i < 100; ++i) {
        if (i > 0) s->start();
        CHECK(s->port() == o.port);
        test_client client(o.port);
        CHECK(echoes(client.ask(ask_echo(i)), i));
        if (i % 3 == 0) test_client(o.port).send("GET /");
        s->stop(no_limit);
    }
}

TEST_CASE("a port in use") {
    echo_server s;
    server_options o;
    o.port = s.running.port();
    server other(o, std::make_shared<quiet_log>());
    const auto failure = thrown_by([&] { other.start(); });
    REQUIRE(failure);
    CHECK(failure->code == errc::unavailable);
    CHECK(failure->message.find("port " + std::to_string(o.port) + " is in use") != std::string::npos);
    CHECK_FALSE(other.running());
    CHECK_FALSE(other.ready());
    s.running.stop(no_limit);
    other.start();
    CHECK(test_client(o.port).ask(live).status == 200);
}

TEST_CASE("hosts") {
    server_options o;
    o.host = "no such host";
    server nowhere(o, std::make_shared<quiet_log>());
    const auto failure = thrown_by([&] { nowhere.start(); });
    REQUIRE(failure);
    CHECK(failure->code == errc::invalid_request);

    for (const char* host : {"", "localhost", "127.0.0.1", "0.0.0.0"}) {
        CAPTURE(host);
        server_options local;
        local.host = host;
        local.port = 0;
        server s(local, std::make_shared<quiet_log>());
        s.start();
        CHECK(test_client(s.port()).ask(live).status == 200);
        CHECK(s.url().ends_with(":" + std::to_string(s.port())));
        CHECK(thrown_by([&] { s.start(); })->code == errc::invalid_request);
    }
}

TEST_CASE("a server ends with requests under way") {
    std::optional<test_client> client;
    {
        echo_server s({}, {{"delay_s", "3600"}});
        client.emplace(s.running.port());
        client->send(ask_echo(1) + ask_echo(2));
        CHECK(eventually([&] { return s.runs("echo") + s.queued("echo") == 2; }));
    }
    CHECK(client->read().status == 503);
}
