#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/exchange.hpp"
#include "core/response_encoder.hpp"
#include "core/served_model.hpp"
#include "request/router.hpp"

/// Stand-ins for what surrounds the router: nothing here has a thread, a socket or a clock of its own.
namespace router_fakes {

using namespace asio_infer;

/// Keeps tasks until the test runs them.
struct manual_executor final : task_executor {
    std::deque<task*> tasks;
    bool current = false;

    void post(task& work) noexcept override { tasks.push_back(&work); }
    bool here() const noexcept override { return current; }
    /// Runs the oldest task as this executor's thread would.
    void run_one() {
        task* const next = tasks.front();
        tasks.pop_front();
        const bool before = std::exchange(current, true);
        next->run();
        current = before;
    }
};

/// Says in text what it was asked for.
struct text_encoder final : response_encoder {
    bool throws = false;

    void infer(const infer_call& call, response_message& out) const override {
        if (throws) throw std::bad_alloc();
        if (call.outcome.has_error()) return failure(call.outcome.error(), out);
        out.text = "result " + call.request.id;
    }
    void failure(const error& e, response_message& out) const override {
        out.status = status_of(e.code).http;
        out.text = e.message;
    }
    void server_metadata(response_message& out) const override { out.text = "server metadata"; }
    void live(response_message& out) const override { out.text = "live"; }
    void ready(bool ready, response_message& out) const override { say(ready ? "ready" : "not ready", ready, out); }
    void model_ready(std::string_view name, bool ready, response_message& out) const override {
        say(std::string(name) + (ready ? " ready" : " not ready"), ready, out);
    }
    void model_metadata(const served_model& model, std::span<const model_ptr> versions,
                        response_message& out) const override {
        out.text = "metadata of " + label(model) + " of " + std::to_string(versions.size());
    }
    void model_config(const served_model& model, response_message& out) const override {
        out.text = "config of " + label(model);
    }
    void statistics(std::span<const model_ptr> models, response_message& out) const override {
        out.text = "statistics";
        for (const model_ptr& model : models) out.text += " " + label(*model);
    }
    void shared_memory_status(std::span<const shared_region>, response_message& out) const override {
        out.text = "regions";
    }
    void done(response_message& out) const override { out.text = "done"; }
    void welcome(std::span<const model_ptr> models, response_message& out) const override {
        out.text = "welcome to " + std::to_string(models.size());
        out.content_type = "text/plain";
    }

private:
    static std::string label(const served_model& model) {
        return model.spec().name + ":" + std::to_string(model.spec().version);
    }
    static void say(std::string text, bool good, response_message& out) {
        out.status = good ? 200 : 503;
        out.text = std::move(text);
    }
};

/// Holds the calls it gets, or answers inside submit().
struct fake_model final : served_model {
    bool is_ready = true;
    bool answers_at_once = false;
    std::vector<infer_call_ptr> held;
    int cancels = 0;
    std::vector<time_point> deadlines;

    fake_model(std::string name, std::int64_t version) {
        spec_.name = std::move(name);
        spec_.version = version;
        tensor_spec input;
        input.name = "x";
        input.type = dtype::int32;
        input.shape = {-1};
        tensor_spec output = input;
        output.name = "y";
        spec_.inputs = {input};
        spec_.outputs = {output};
    }

    bool ready() const noexcept override { return is_ready; }
    void submit(infer_call_ptr call, task_executor* home, bool caller_waits) noexcept override {
        if (home == nullptr || caller_waits) std::terminate();
        deadlines.push_back(call->deadline);
        if (answers_at_once) {
            finish(std::move(call));
        } else {
            held.push_back(std::move(call));
        }
    }
    void cancel(const call_receiver& caller) noexcept override {
        ++cancels;
        for (std::size_t i = 0; i < held.size(); ++i) {
            if (held[i]->receiver != &caller) continue;
            infer_call_ptr found = std::move(held[i]);
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
            found->outcome = error{errc::cancelled, "cancelled"};
            deliver(std::move(found));
            return;
        }
    }
    void open() noexcept override { is_ready = true; }
    void close(const error&, bool) noexcept override { is_ready = false; }

    /// Answers the oldest call that is held with one output of `elements` numbers.
    void finish_held(std::size_t elements = 1) {
        infer_call_ptr call = std::move(held.front());
        held.erase(held.begin());
        finish(std::move(call), elements);
    }

private:
    static void deliver(infer_call_ptr call) {
        call_receiver& receiver = *call->receiver;
        receiver.deliver(std::move(call));
    }
    static void finish(infer_call_ptr call, std::size_t elements = 1) {
        tensor y{dtype::int32, {static_cast<std::int64_t>(elements)}, unique_buffer(elements * 4).share()};
        call->outcome = std::vector<tensor>{y};
        deliver(std::move(call));
    }
};

struct fake_directory final : model_directory {
    std::vector<std::shared_ptr<fake_model>> models;
    bool is_ready = true;
    bool is_stopping = false;

    result<model_ptr> find(std::string_view name, std::optional<std::int64_t> version) const override {
        model_ptr best;
        for (const auto& model : models) {
            if (model->spec().name == name && (!version || model->spec().version == *version)) best = model;
        }
        if (!best) return error{errc::not_found, "no model " + std::string(name)};
        return best;
    }
    std::vector<model_ptr> all() const override { return {models.begin(), models.end()}; }
    std::vector<model_ptr> versions(std::string_view name) const override {
        std::vector<model_ptr> found;
        for (const auto& model : models) {
            if (model->spec().name == name) found.push_back(model);
        }
        return found;
    }
    bool ready() const noexcept override { return is_ready; }
    bool stopping() const noexcept override { return is_stopping; }
    void add_watcher(readiness_watcher& w) const noexcept override { watchers.push_back(&w); }
    void remove_watcher(readiness_watcher& w) const noexcept override { std::erase(watchers, &w); }
    mutable std::vector<readiness_watcher*> watchers;
};

/// Records as text: "message key=value ...".
struct memory_log final : log_sink {
    std::vector<std::string> lines;

    bool enabled(log_level level) const noexcept override { return level >= log_level::info; }
    void write(log_level, std::string_view message, std::initializer_list<log_field> fields) noexcept override {
        std::string line(message);
        for (const auto& [name, value] : fields) line += " " + std::string(name) + "=" + std::visit(as_text{}, value);
        lines.push_back(line);
    }

private:
    struct as_text {
        std::string operator()(std::string_view text) const { return std::string(text); }
        std::string operator()(bool value) const { return value ? "true" : "false"; }
        std::string operator()(auto number) const { return std::to_string(number); }
    };
};

/// What a client has received.
struct received {
    response_message response;
    int answers = 0;
};

/// An exchange that is gone as soon as it is complete, as a session's may be.
class short_lived_exchange final : public exchange {
public:
    short_lived_exchange(manual_executor& home, received& client) : home_(home), client_(client) {}
    task_executor& home() noexcept override { return home_; }
    void complete() noexcept override {
        if (!home_.current) std::terminate();
        client_.response = std::move(response);
        ++client_.answers;
        delete this;
    }

private:
    manual_executor& home_;
    received& client_;
};

inline time_point fixed_now() { return time_point(std::chrono::seconds(1'000)); }

/// A router with two versions of "add" and one of "a b", on the home thread.
struct router_world {
    manual_executor home;
    manual_executor workers;
    text_encoder encoder;
    fake_directory models;
    memory_log log;
    server_stats stats;
    asio_infer::limits limits;
    byte_budget budget{std::size_t{1} << 20};
    std::shared_ptr<fake_model> add = std::make_shared<fake_model>("add", 2);
    bool access_log = false;
    bool compress_binary = false;
    void (*compress)(response_message&, std::string_view, bool) = nullptr;

    router_world() {
        home.current = true;
        models.models = {std::make_shared<fake_model>("a b", 1), std::make_shared<fake_model>("add", 1), add};
    }

    router make_router() {
        return router({.models = models,
                       .json = encoder,
                       .protobuf = encoder,
                       .workers = workers,
                       .limits = limits,
                       .budget = budget,
                       .keys = nullptr,
                       .shared_memory = nullptr,
                       .stats = stats,
                       .log = log,
                       .access_log = access_log,
                       .compress_binary = compress_binary,
                       .metrics_text = [] { return std::string("metric 1\n"); },
                       .compress = compress,
                       .now = &fixed_now});
    }

    /// Sends a request that may be answered later. Returns its exchange, which is gone once it is answered.
    exchange* send(received& client, verb method, std::string target, std::string body = {},
                   std::vector<std::pair<header, std::string>> headers = {}) {
        auto* const x = new short_lived_exchange(home, client);
        x->request.method = method;
        x->request.method_name = method_name(method);
        x->request.target = std::move(target);
        for (const auto& [name, value] : headers) x->request.headers.add(name, value);
        if (!body.empty()) {
            const auto owner = std::make_shared<std::string>(std::move(body));
            x->request.body = {owner, std::as_bytes(std::span(*owner))};
        }
        x->arrived = fixed_now() - std::chrono::milliseconds(5);
        make_router_once().handle(*x);
        return x;
    }

    /// Sends a request that is answered at once.
    response_message ask(verb method, std::string target, std::string body = {},
                         std::vector<std::pair<header, std::string>> headers = {}) {
        received client;
        send(client, method, std::move(target), std::move(body), std::move(headers));
        if (client.answers != 1) throw std::logic_error("the request was not answered once");
        return std::move(client.response);
    }
    response_message get(std::string target) { return ask(verb::get, std::move(target)); }

    std::uint64_t refused(errc code) const { return stats.refused[static_cast<std::size_t>(code)].load(); }

private:
    static std::string method_name(verb method) {
        constexpr const char* names[] = {"GET", "HEAD", "POST", "OPTIONS", "DELETE"};
        return names[static_cast<std::size_t>(method)];
    }
    router& make_router_once() {
        if (!router_) router_ = std::make_unique<router>(make_router());
        return *router_;
    }
    std::unique_ptr<router> router_;
};

inline const std::string small_body = R"({"id":"7","inputs":[{"name":"x","shape":[1],"datatype":"INT32","data":[7]}]})";

}  // namespace router_fakes
