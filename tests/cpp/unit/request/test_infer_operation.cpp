#include <doctest/doctest.h>
#include <zlib.h>

#include <string>

#include "request/infer_cost.hpp"
#include "request/infer_operation.hpp"
#include "router_fakes.hpp"

using namespace router_fakes;

namespace {

const std::string infer_target = "/v2/models/add/infer";

/// A world in which a request waits in its model.
struct waiting_request : router_world {
    received client;
    exchange* x = nullptr;
    waiting_request() {
        x = send(client, verb::post, infer_target, small_body);
        REQUIRE(add->held.size() == 1);
        REQUIRE(client.answers == 0);
    }
};

std::uint64_t failures(const served_model& model, errc code) {
    return model.stats().failures[static_cast<std::size_t>(code)].load();
}

}  // namespace

TEST_CASE("a result inside submit is answered inside handle") {
    router_world world;
    world.add->answers_at_once = true;
    const response_message answer = world.ask(verb::post, infer_target, small_body);
    CHECK(answer.status == 200);
    CHECK(answer.text == "result 7");
    CHECK(answer.request_id.size() == 32);
    CHECK(world.home.tasks.empty());
    CHECK(world.workers.tasks.empty());
}

TEST_CASE("a result that comes later at home is answered there and then") {
    waiting_request world;
    world.add->finish_held();
    CHECK(world.client.answers == 1);
    CHECK(world.client.response.text == "result 7");
    CHECK(world.home.tasks.empty());
}

TEST_CASE("a result from another thread goes home first") {
    waiting_request world;
    world.home.current = false;
    world.add->finish_held();
    CHECK(world.client.answers == 0);
    REQUIRE(world.home.tasks.size() == 1);
    world.home.run_one();
    CHECK(world.client.answers == 1);
    CHECK(world.client.response.text == "result 7");
}

TEST_CASE("a long answer is printed by a worker, wherever the result came from") {
    for (const bool at_home : {true, false}) {
        CAPTURE(at_home);
        waiting_request world;
        world.home.current = at_home;
        world.add->finish_held(world.limits.offload_bytes);
        world.home.current = false;
        CHECK(world.client.answers == 0);
        CHECK(world.home.tasks.empty());
        REQUIRE(world.workers.tasks.size() == 1);
        world.workers.run_one();
        CHECK(world.client.answers == 0);
        world.home.run_one();
        CHECK(world.client.answers == 1);
        CHECK(world.client.response.text == "result 7");
    }
}

TEST_CASE("long JSON is read by a worker and submitted at home") {
    router_world world;
    world.limits.offload_bytes = small_body.size() - 1;
    world.add->answers_at_once = true;
    received client;
    world.send(client, verb::post, infer_target, small_body);
    REQUIRE(world.workers.tasks.size() == 1);
    world.home.current = false;
    world.workers.run_one();
    CHECK(client.answers == 0);
    CHECK(world.add->deadlines.empty());
    world.home.run_one();
    CHECK(world.add->deadlines.size() == 1);
    CHECK(client.answers == 1);
    CHECK(client.response.text == "result 7");
}

TEST_CASE("JSON of the limit's length is read at home") {
    router_world world;
    world.limits.offload_bytes = small_body.size();
    world.add->answers_at_once = true;
    CHECK(world.ask(verb::post, infer_target, small_body).text == "result 7");
}

TEST_CASE("a client that leaves while its request waits gets it out of the queue") {
    waiting_request world;
    world.x->pending->cancel();
    CHECK(world.add->cancels == 1);
    CHECK(world.add->held.empty());
    // Not inside cancel(): whoever calls it still holds the exchange.
    CHECK(world.client.answers == 0);
    world.home.run_one();
    CHECK(world.client.answers == 1);
    CHECK(world.client.response.status == 499);
    // Failures behind submit() are the scheduler's to count.
    CHECK(failures(*world.add, errc::cancelled) == 0);
}

TEST_CASE("a client that leaves while its JSON is read ends its request before the queue") {
    router_world world;
    world.limits.offload_bytes = 1;
    received client;
    exchange* const x = world.send(client, verb::post, infer_target, small_body);
    x->pending->cancel();
    CHECK(world.add->cancels == 0);
    world.home.current = false;
    world.workers.run_one();
    world.home.run_one();
    CHECK(client.answers == 1);
    CHECK(client.response.status == 499);
    CHECK(world.add->deadlines.empty());
    CHECK(failures(*world.add, errc::cancelled) == 1);
}

TEST_CASE("a client that leaves while the result is on its way changes nothing") {
    waiting_request world;
    world.home.current = false;
    world.add->finish_held();
    world.home.current = true;
    world.x->pending->cancel();
    CHECK(world.add->cancels == 1);
    CHECK(world.client.answers == 0);
    world.home.run_one();
    CHECK(world.client.answers == 1);
    CHECK(world.client.response.status == 200);
}

TEST_CASE("the model's last reference may be the call's") {
    waiting_request world;
    const std::weak_ptr<fake_model> last = world.add;
    fake_model& model = *world.add;
    world.models.models.clear();
    world.add.reset();
    REQUIRE_FALSE(last.expired());
    infer_call_ptr call = std::move(model.held.front());
    model.held.clear();
    call->outcome = error{errc::model_error, "it broke"};
    call_receiver& receiver = *call->receiver;
    receiver.deliver(std::move(call));
    CHECK(world.client.response.status == 500);
    CHECK(last.expired());
}

TEST_CASE("requests that fail before the queue are counted at their model, once") {
    router_world world;
    const std::string no_json = "{";
    const std::string unknown_input = R"({"inputs":[{"name":"z","shape":[1],"datatype":"INT32","data":[7]}]})";
    const std::string negative_timeout = R"({"parameters":{"timeout":-1},)" + small_body.substr(1);
    int sent = 0;
    for (const std::string& body : {no_json, unknown_input, negative_timeout}) {
        CAPTURE(body);
        const response_message answer = world.ask(verb::post, infer_target, body);
        CHECK(answer.status == 400);
        CHECK(answer.request_id.size() == 32);
        CHECK(failures(*world.add, errc::invalid_request) == static_cast<std::uint64_t>(++sent));
    }
    CHECK(world.add->stats().fail.count == 3);
    CHECK(world.add->stats().fail.ns == 15'000'000);
    CHECK(world.add->deadlines.empty());
    CHECK(world.refused(errc::invalid_request) == 0);
    CHECK(world.stats.responses[4] == 3);
}

TEST_CASE("requests that fail before a model is found are the server's") {
    router_world world;
    CHECK(world.ask(verb::post, "/v2/models/nosuch/infer", small_body).status == 404);
    CHECK(world.ask(verb::post, "/v2/models/add/versions/3/infer", small_body).status == 404);
    CHECK(world.refused(errc::not_found) == 2);
    CHECK(world.add->stats().fail.count == 0);
}

TEST_CASE("bodies are taken under any type but multipart, and uncoded only") {
    router_world world;
    world.add->answers_at_once = true;
    const auto status_with = [&](header name, const std::string& value) {
        return world.ask(verb::post, infer_target, small_body, {{name, value}}).status;
    };
    for (const std::string type : {"application/json", "application/octet-stream", "application/x-www-form-urlencoded",
                                   "text/plain; charset=utf-8", "nonsense", ""}) {
        CAPTURE(type);
        CHECK(status_with(header::content_type, type) == 200);
    }
    CHECK(status_with(header::content_type, "multipart/form-data; boundary=x") == 415);
    CHECK(status_with(header::content_type, "Multipart/Mixed") == 415);
    CHECK(status_with(header::content_encoding, "identity") == 200);
    CHECK(status_with(header::content_encoding, "Identity") == 200);
    for (const std::string coding : {"zstd", "br", "identity, gzip", "identit"}) {
        CAPTURE(coding);
        CHECK(status_with(header::content_encoding, coding) == 415);
    }
    CHECK(world.refused(errc::unsupported_media_type) == 6);
    CHECK(world.ask(verb::post, infer_target, small_body, {{header::content_encoding, "br"}}).text ==
          "Content-Encoding 'br' is not supported; send gzip, deflate or the body as it is");
}

TEST_CASE("a coded body, however short, is expanded on a worker, and holds its share of the budget until the answer") {
    router_world world;
    std::string coded(200, '\0');
    auto size = static_cast<uLongf>(coded.size());
    REQUIRE(compress(reinterpret_cast<Bytef*>(coded.data()), &size, reinterpret_cast<const Bytef*>(small_body.data()),
                     static_cast<uLong>(small_body.size())) == Z_OK);
    coded.resize(size);
    received client;
    world.send(client, verb::post, infer_target, coded, {{header::content_encoding, "deflate"}});
    CHECK(world.add->held.empty());
    world.home.current = false;
    world.workers.run_one();
    world.home.current = true;
    world.home.run_one();
    REQUIRE(world.add->held.size() == 1);
    CHECK(world.budget.used() == small_body.size());
    world.add->finish_held();
    CHECK(client.response.text == "result 7");
    CHECK(world.budget.used() == 0);
}

TEST_CASE("tensors that were read from JSON hold their share of the budget until the answer") {
    const auto body_of = [](std::size_t count) {
        std::string numbers = "7";
        for (std::size_t i = 1; i < count; ++i) numbers += ",7";
        return R"({"inputs":[{"name":"x","shape":[)" + std::to_string(count) + R"(],"datatype":"INT32","data":[)" +
               numbers + "]}]}";
    };
    router_world world;
    received client;
    world.send(client, verb::post, infer_target, body_of(2'000));
    REQUIRE(world.add->held.size() == 1);
    CHECK(world.budget.used() == 8'000);
    world.add->finish_held();
    CHECK(client.response.status == 200);
    CHECK(world.budget.used() == 0);

    world.budget.try_take(world.budget.limit() - 7'999);
    CHECK(world.ask(verb::post, infer_target, body_of(2'000)).status == 503);
    world.send(client, verb::post, infer_target, body_of(1'000));  // too short to count
    CHECK(world.add->held.size() == 1);
    world.add->finish_held();
}

TEST_CASE("the parameter timeout becomes a deadline from the request's arrival") {
    router_world world;
    world.add->answers_at_once = true;
    const auto deadline_with = [&](const std::string& timeout) {
        world.ask(verb::post, infer_target, R"({"parameters":{"timeout":)" + timeout + "}," + small_body.substr(1));
        return world.add->deadlines.back();
    };
    const time_point arrived = fixed_now() - std::chrono::milliseconds(5);
    CHECK(deadline_with("0") == no_deadline);
    CHECK(deadline_with("250") == arrived + std::chrono::microseconds(250));
    CHECK(deadline_with("9223372036854775807") == no_deadline);
}

TEST_CASE("deadlines saturate") {
    const time_point arrived{std::chrono::seconds(1)};
    CHECK(deadline_after(arrived, 1) == arrived + std::chrono::microseconds(1));
    CHECK(deadline_after(arrived, UINT64_MAX) == no_deadline);
    CHECK(deadline_after(no_deadline, 1) == no_deadline);
    CHECK(deadline_after(no_deadline - std::chrono::seconds(1), 999'999) < no_deadline);
    CHECK(deadline_after(no_deadline - std::chrono::seconds(1), 1'000'000) == no_deadline);
}

TEST_CASE("the length of the JSON is the header's, at most the body's") {
    request_message request;
    const auto owner = std::make_shared<std::string>(100, ' ');
    request.body = {owner, std::as_bytes(std::span(*owner))};
    const auto with = [&](std::string_view value) {
        request.headers.clear();
        request.headers.add(header::inference_header_content_length, value);
        return json_bytes(request);
    };
    CHECK(json_bytes(request) == 100);
    CHECK(with("10") == 10);
    CHECK(with("0") == 0);
    CHECK(with("101") == 100);
    for (const std::string_view bad : {"", "-1", "1x", "99999999999999999999999", " 1"}) CHECK(with(bad) == 100);
}

TEST_CASE("the length of an answer is judged by the form of each output") {
    infer_call call;
    call.outcome = std::vector<tensor>{{dtype::fp32, {2}, unique_buffer(8).share()},
                                       {dtype::int64, {3}, unique_buffer(24).share()},
                                       {dtype::bytes, {1}, unique_buffer(50).share()},
                                       {dtype::fp64, {100}, unique_buffer(800).share()}};
    call.outputs = {{0, false, 0}, {1, true, 0}, {2, false, 0}, {3, false, 5}};
    CHECK(expected_json_bytes(call) == 2 * 14 + 50);
    CHECK(binary_bytes(call) == 24);
    call.outcome = error{errc::model_error, "x"};
    CHECK(expected_json_bytes(call) == 0);
    CHECK(binary_bytes(call) == 0);
}

TEST_CASE("an answer that finds no memory is still an answer") {
    router_world world;
    world.encoder.throws = true;
    world.add->answers_at_once = true;
    const response_message answer = world.ask(verb::post, infer_target, small_body);
    CHECK(answer.status == 503);
    CHECK(answer.retry_after_s == 1);
    CHECK(answer.body_size() == 0);
}
