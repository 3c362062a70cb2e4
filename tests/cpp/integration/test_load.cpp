#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <string>
#include <thread>

#include "load/loops.hpp"
#include "support/backend_fixture.hpp"
#include "support/server_fixture.hpp"
#include "support/test_client.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;
using namespace std::chrono_literals;

namespace {

/// A short load of the kind that `make stress` makes a long one of; ASIO_INFER_STRESS_SECONDS sets the time of each.
std::chrono::duration<double> load_time() {
    const char* const seconds = std::getenv("ASIO_INFER_STRESS_SECONDS");
    return std::chrono::duration<double>(seconds == nullptr ? 0.5 : std::atof(seconds));
}

std::string post_echo(const std::string& numbers, std::size_t count) {
    const std::string body = R"({"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,)" + std::to_string(count) +
                             R"(],"data":[)" + numbers + "]}]}";
    return "POST /v2/models/echo/infer HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

struct loaded_server : server_fixture {
    loaded_server(string_map backend_options, batching_options batching, queue_options queue, server_options o = {})
        : server_fixture(std::move(o)) {
        model_options model;
        model.name = "echo";
        model.backend = "identity";
        model.backend_options = std::move(backend_options);
        model.batching = batching;
        model.queue = queue;
        running.register_model(std::move(model));
        running.start();
    }
    /// `rate` 0: a closed loop.
    load::tally run(std::size_t connections, double rate, const std::string& request) {
        load::settings how;
        how.server = {boost::asio::ip::address_v4::loopback(), running.port()};
        how.requests = {request};
        how.connections = connections;
        how.rate = rate;
        how.seconds = load_time();
        load::tally counts;
        boost::asio::io_context context(1);
        load::generator generator(context, how, counts);
        generator.start();
        const auto end = load::clock::now() + std::chrono::duration_cast<load::clock::duration>(how.seconds) + 30s;
        while (!generator.finished() && load::clock::now() < end) context.run_one_for(10ms);
        counts.unanswered = generator.outstanding();
        return counts;
    }
    void check_clean() {
        CHECK(eventually([&] { return runs("echo") == 0 && queued("echo") == 0; }));
        CHECK(eventually([&] { return metric("asio_infer_connections_open") == 0; }));
        CHECK(metric("asio_infer_inflight_bytes") == 0);
    }
};

void check_nothing_lost(const load::tally& counts) {
    std::uint64_t answered = 0;
    for (const auto& [status, count] : counts.answered) answered += count;
    CHECK(counts.sent == answered);
    CHECK(counts.broken == 0);
    CHECK(counts.unanswered == 0);
    CHECK(counts.without_retry_after == 0);
}

}  // namespace

TEST_CASE("load: more than fits is refused or timed out, and every request is answered") {
    loaded_server s({{"delay_s", "0.01"}}, {.choice = batching_options::mode::off}, {.max_size = 16, .timeout_s = 0.1});
    load::tally counts = s.run(200, 400, post_echo("1,2", 2));
    check_nothing_lost(counts);
    CHECK(counts.answered[200] > 0);
    CHECK(counts.answered[200] + counts.answered[429] + counts.answered[504] == counts.sent);
    CHECK(counts.answered[429] + counts.answered[504] > 0);
    s.check_clean();
}

TEST_CASE("load: a model that fails one run in three loses no request") {
    loaded_server s({{"fail", "nth:3"}}, {.max_rows = 8, .max_delay_s = 0.0005}, {});
    load::tally counts = s.run(16, 0, post_echo("1,2", 2));
    check_nothing_lost(counts);
    CHECK(counts.answered[200] > 0);
    CHECK(counts.answered[200] + counts.answered[500] == counts.sent);
    s.check_clean();
}

TEST_CASE("load: bodies that do not fit the budget together wait or are refused") {
    server_options o;
    o.limits.inflight_bytes = 1'000'000;
    loaded_server s({}, {}, {}, std::move(o));
    std::string numbers = "0";
    for (int i = 1; i < 100'000; ++i) numbers += ",0.5";
    load::tally counts = s.run(16, 0, post_echo(numbers, 100'000));
    check_nothing_lost(counts);
    CHECK(counts.answered[200] + counts.answered[503] == counts.sent);
    s.check_clean();
}

TEST_CASE("load: clients that leave at every point of an exchange, beside good ones") {
    loaded_server s({{"delay_s", "0.001"}}, {.max_rows = 4}, {});
    std::string numbers = "0";
    for (int i = 1; i < 30'000; ++i) numbers += ",0.5";
    const std::string small = post_echo("1,2", 2);
    const std::string large = post_echo(numbers, 30'000);
    const time_point end = clock::now() + std::chrono::duration_cast<clock::duration>(load_time());
    std::thread leaver([&] {
        std::uint32_t random = 1;
        while (clock::now() < end) {
            random = random * 1664525 + 1013904223;
            const std::string& request = random >> 31 != 0 ? small : large;
            const std::size_t cut = (random >> 16) % 4 == 0 ? (random >> 8) % request.size() : request.size();
            test_client client(s.running.port());
            client.send(request.substr(0, cut));
            if ((random >> 20) % 3 == 0) client.reset();
            if ((random >> 20) % 3 == 1) client.finish_sending();
        }
    });
    load::tally counts = s.run(4, 0, small);
    leaver.join();
    check_nothing_lost(counts);
    CHECK(counts.answered[200] + counts.answered[429] == counts.sent);
    s.check_clean();
}
