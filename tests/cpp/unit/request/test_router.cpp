#include "request/router.hpp"

#include <doctest/doctest.h>

#include <string>

#include "request/route_arguments.hpp"
#include "router_fakes.hpp"

using namespace router_fakes;

TEST_CASE("every endpoint that is read answers GET and HEAD alike and names its methods") {
    const std::vector<std::pair<std::string, std::string>> endpoints{
        {"/", "welcome to 3"},
        {"/v2", "server metadata"},
        {"/v2/health/live", "live"},
        {"/v2/health/ready", "ready"},
        {"/v2/models/add", "metadata of add:2 of 2"},
        {"/v2/models/add/versions/1", "metadata of add:1 of 2"},
        {"/v2/models/add/ready", "add ready"},
        {"/v2/models/add/versions/1/ready", "add ready"},
        {"/v2/models/add/config", "config of add:2"},
        {"/v2/models/add/versions/1/config", "config of add:1"},
        {"/v2/models/add/stats", "statistics add:1 add:2"},
        {"/v2/models/add/versions/1/stats", "statistics add:1"},
        {"/v2/models/stats", "statistics a b:1 add:1 add:2"},
        {"/metrics", "metric 1\n"},
    };
    router_world world;
    for (const auto& [target, text] : endpoints) {
        CAPTURE(target);
        const response_message got = world.get(target);
        CHECK(got.status == 200);
        CHECK(got.text == text);
        CHECK(world.ask(verb::head, target).text == text);
        if (target != "/") CHECK(world.get(target + "/").text == text);
        CHECK(world.get(target + "?x=1").text == text);
        CHECK(world.get("http://other:1" + target).text == text);

        const response_message options = world.ask(verb::options, target);
        CHECK(options.status == 204);
        CHECK(options.allow == "GET, HEAD, OPTIONS");
        CHECK(options.body_size() == 0);
        CHECK(options.content_type.empty());

        for (const verb method : {verb::post, verb::other}) {
            const response_message refused = world.ask(method, target, "{}");
            CHECK(refused.status == 405);
            CHECK(refused.allow == "GET, HEAD, OPTIONS");
        }
    }
    CHECK(world.get("/metrics").content_type == "text/plain; version=0.0.4; charset=utf-8");
}

TEST_CASE("infer takes POST only") {
    router_world world;
    world.add->answers_at_once = true;
    for (const std::string target : {"/v2/models/add/infer", "/v2/models/add/versions/2/infer"}) {
        CAPTURE(target);
        CHECK(world.ask(verb::post, target, small_body).text == "result 7");
        for (const verb method : {verb::get, verb::head, verb::other}) {
            const response_message refused = world.ask(method, target);
            CHECK(refused.status == 405);
            CHECK(refused.allow == "POST, OPTIONS");
        }
        CHECK(world.ask(verb::options, target).status == 204);
        CHECK(world.ask(verb::options, target).allow == "POST, OPTIONS");
    }
    CHECK(world.get("/v2/models/add/infer").text == "GET is not allowed on '/v2/models/add/infer'; use POST, OPTIONS");
}

TEST_CASE("OPTIONS * is about the server, and * is nothing else") {
    router_world world;
    CHECK(world.ask(verb::options, "*").status == 204);
    CHECK(world.ask(verb::options, "*").allow == "GET, HEAD, POST, OPTIONS");
    CHECK(world.get("*").status == 400);
}

TEST_CASE("what is nowhere is 404 and is named, harmlessly and briefly") {
    router_world world;
    for (const std::string target :
         {"//", "//v2", "/v2//", "/v2//models", "/v3", "/V2", "/v2/models", "/v2/models/", "/v2/models//infer",
          "/v2/health", "/v2/models/add/nothing", "/v2/models/add/versions", "/v2/models/add/versions//infer",
          "/v2%2Fmodels/add", "/v2/models%2Fadd", "/v2/../metrics", "/v2/models/add/versions/1/infer/x/y/z"}) {
        CAPTURE(target);
        for (const verb method : {verb::get, verb::post, verb::options, verb::other}) {
            CHECK(world.ask(method, target).status == 404);
        }
    }
    CHECK(world.get("/nowhere").text == "there is nothing at '/nowhere'");
    CHECK(world.get("/a\r\n\x1b\"").text == "there is nothing at '/a\\r\\n\\u001b\"'");
    CHECK(world.get("/" + std::string(5'000, 'x')).text.size() < 300);
}

TEST_CASE("targets that are malformed are 400") {
    router_world world;
    for (const std::string target : {"/v2/models/%zz", "/v2/models/%00", "/%", "host:80", ""}) {
        CAPTURE(target);
        CHECK(world.get(target).status == 400);
    }
    CHECK(world.refused(errc::invalid_request) == 5);
}

TEST_CASE("names are decoded once and an encoded slash names no model") {
    router_world world;
    CHECK(world.get("/v2/models/%61dd/ready").text == "add ready");
    CHECK(world.get("/v2/%6dodels/add/ready").text == "add ready");
    CHECK(world.get("/v2/models/a%20b/ready").text == "a b ready");
    CHECK(world.get("/v2/models/a b/ready").text == "a b ready");
    CHECK(world.get("/v2/models/%2561dd/ready").status == 404);
    for (const std::string name : {"a%2Fb", "..%2fadd", "..", ".", "%2e%2e", "a%5Cb", "a%0Ab", "%7f", "%ff"}) {
        CAPTURE(name);
        const response_message answer = world.get("/v2/models/" + name);
        CHECK(answer.status == 404);
        CHECK(answer.text.find("there is no model '") == 0);
    }
    CHECK(world.get("/v2/models/a%0Ab").text == R"(there is no model 'a\nb')");
    CHECK(world.get("/v2/models/nosuch/ready").text == "no model nosuch");
}

TEST_CASE("versions are whole numbers from 1, without sign and leading zeros") {
    CHECK(parse_version("1") == 1);
    CHECK(parse_version("9223372036854775807") == INT64_MAX);
    for (const std::string_view text : {"", "0", "01", "+1", "-1", "1 ", " 1", "1.0", "0x1", "abc", "1e3",
                                        "9223372036854775808", "99999999999999999999", "\xd9\xa1"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_version(text).has_value());
    }
    router_world world;
    CHECK(world.get("/v2/models/add/versions/99/ready").status == 404);
    const response_message answer = world.ask(verb::post, "/v2/models/add/versions/abc/infer", small_body);
    CHECK(answer.status == 404);
    CHECK(answer.text == "model 'add' has no version 'abc': versions are whole numbers from 1");
    CHECK(world.get("/v2/models/add/versions/01").status == 404);
}

TEST_CASE("names of models have 1 to 256 bytes") {
    CHECK(is_model_name(std::string(256, 'm')));
    CHECK_FALSE(is_model_name(std::string(257, 'm')));
    CHECK_FALSE(is_model_name(""));
    CHECK(is_model_name("..."));
    CHECK(is_model_name("mod\xc3\xa8le \"1\""));
}

TEST_CASE("ready tells the server and each model apart") {
    router_world world;
    world.add->is_ready = false;
    CHECK(world.get("/v2/models/add/ready").status == 503);
    CHECK(world.get("/v2/models/add/versions/1/ready").status == 200);
    CHECK(world.get("/v2/health/ready").status == 200);
    world.models.is_ready = false;
    CHECK(world.get("/v2/health/ready").status == 503);
    CHECK(world.get("/v2/health/live").status == 200);
}

TEST_CASE("each answer has a request id: the client's if it is harmless") {
    router_world world;
    const auto id_for = [&](const std::string& sent) {
        return world.ask(verb::get, "/v2", {}, {{header::request_id, sent}}).request_id;
    };
    CHECK(id_for("abc-1~!") == "abc-1~!");
    CHECK(id_for(std::string(128, 'i')) == std::string(128, 'i'));
    for (const std::string& bad : {std::string(), std::string(129, 'i'), std::string("a b"), std::string("a\nb"),
                                   std::string("\xc3\xa9"), std::string("\x7f")}) {
        const std::string made = id_for(bad);
        CHECK(made.size() == 32);
        CHECK(made.find_first_not_of("0123456789abcdef") == std::string::npos);
    }
    CHECK(id_for("") != id_for(""));
    CHECK(world.get("/nowhere").request_id.size() == 32);
    CHECK(world.ask(verb::options, "/v2").request_id.size() == 32);
}

TEST_CASE("requests, answers and refusals are counted") {
    router_world world;
    world.get("/v2");
    world.get("/nowhere");
    world.ask(verb::post, "/v2");
    world.models.is_ready = false;
    world.get("/v2/health/ready");
    world.ask(verb::post, "/v2/models/nosuch/infer", small_body);
    CHECK(world.stats.requests == 5);
    CHECK(world.stats.responses[2] == 1);
    CHECK(world.stats.responses[4] == 3);
    CHECK(world.stats.responses[5] == 1);
    CHECK(world.refused(errc::not_found) == 2);
    CHECK(world.refused(errc::method_not_allowed) == 1);
}

TEST_CASE("refuse answers, counts and logs what the protocol refuses") {
    router_world world;
    world.access_log = true;
    router under_test = world.make_router();
    received client;
    short_lived_exchange x(world.home, client);
    response_message& response = x.response;
    under_test.refuse({errc::header_too_large, "too much"}, x);
    CHECK(response.status == 431);
    CHECK(response.text == "too much");
    CHECK(response.request_id.size() == 32);
    CHECK(world.stats.requests == 1);
    CHECK(world.stats.responses[4] == 1);
    CHECK(world.refused(errc::header_too_large) == 1);
    REQUIRE(world.log.lines.size() == 1);
    CHECK(world.log.lines[0] == "request refused error=too much status=431 request_id=" + response.request_id);
}

TEST_CASE("a refused request keeps the id that its client gave it") {
    router_world world;
    router under_test = world.make_router();
    received client;
    short_lived_exchange x(world.home, client);
    x.request.headers.add(header::request_id, "from-the-client");
    under_test.refuse({errc::too_large, "too much"}, x);
    CHECK(x.response.request_id == "from-the-client");
}

TEST_CASE("the access log is off by default and has one record for each answer") {
    router_world quiet;
    quiet.get("/v2");
    CHECK(quiet.log.lines.empty());

    router_world world;
    world.access_log = true;
    world.add->answers_at_once = true;
    world.ask(verb::get, "/v2?q", {}, {{header::request_id, "r1"}});
    world.ask(verb::post, "/v2/models/add/infer", small_body, {{header::request_id, "r2"}});
    REQUIRE(world.log.lines.size() == 2);
    CHECK(world.log.lines[0] ==
          "request method=GET target=/v2?q status=200 bytes=15 ms=5.000000 request_id=r1 model= key=");
    CHECK(
        world.log.lines[1] ==
        "request method=POST target=/v2/models/add/infer status=200 bytes=8 ms=5.000000 request_id=r2 model=add key=");
}

TEST_CASE("answers pass the compressor with what the client accepts") {
    router_world world;
    world.compress_binary = true;
    world.compress = [](response_message& response, std::string_view accept, bool binary) {
        response.text = std::string(accept) + (binary ? " binary" : "");
        response.content_encoding = "gzip";
    };
    const response_message answer = world.ask(verb::get, "/v2", {}, {{header::accept_encoding, "gzip"}});
    CHECK(answer.text == "gzip binary");
    CHECK(answer.content_encoding == "gzip");
}

TEST_CASE("texts that will be long are made by the workers") {
    router_world world;
    world.limits.offload_bytes = 3 * 8'192 - 1;
    for (const std::string target : {"/metrics", "/v2/models/stats"}) {
        CAPTURE(target);
        const bool is_long = target == "/metrics";
        received client;
        world.send(client, verb::get, target);
        CHECK(client.answers == (is_long ? 0 : 1));
        if (!is_long) continue;
        world.home.current = false;
        world.workers.run_one();
        CHECK(client.answers == 0);
        world.home.run_one();
        world.home.current = true;
        CHECK(client.answers == 1);
        CHECK(client.response.text == "metric 1\n");
        CHECK(client.response.request_id.size() == 32);
    }
}
