// grpc.health.v1.Health: whether the server takes inferences, asked once or watched.
#include <array>
#include <atomic>
#include <memory>
#include <string_view>

#include "request/answer.hpp"
#include "request/handlers.hpp"
#include "request/in_quotes.hpp"
#include "request/protobuf_reader.hpp"

namespace asio_infer::handlers {

namespace {

/// HealthCheckResponse.ServingStatus.
enum class serving_status : char { unknown = 0, serving = 1, not_serving = 2, service_unknown = 3 };

/// What may be asked for: the server as a whole, and its one service.
constexpr std::array<std::string_view, 2> services{"", "inference.GRPCInferenceService"};

bool is_service(std::string_view name) noexcept {
    for (const std::string_view each : services)
        if (each == name) return true;
    return false;
}

/// The service that a HealthCheckRequest names.
result<std::string_view> read_service(const buffer& message) {
    std::string_view service;
    const result<void> read = read_message("HealthCheckRequest", [&]() -> result<void> {
        pbf_reader reader(reinterpret_cast<const char*>(message.data()), message.size());
        while (reader.next()) {
            if (reader.tag_and_type() == text_field(1))
                service = text_of(reader.get_view());
            else
                reader.skip();
        }
        return {};
    });
    if (read.has_error()) return read.error();
    return service;
}

serving_status status_now(const router_context& context) noexcept {
    return context.models.ready() ? serving_status::serving : serving_status::not_serving;
}

/// A HealthCheckResponse.
void put_status(serving_status status, response_message& out) {
    constexpr char status_field = 1 << 3;
    out.content_type = "application/grpc";
    out.text.assign({status_field, static_cast<char>(status)});
}

/// Tells a client the status now, and each time that it changes, until it goes or the server stops. Lives in its
/// exchange. Changes come on any thread; everything else happens on the connection's.
class health_watch_operation final : public operation, private readiness_watcher, private task {
public:
    health_watch_operation(const router_context& context, exchange& x, bool known) noexcept
        : context_(context), x_(x), known_(known) {}

    void start() {
        context_.models.add_watcher(*this);
        report();
    }

    void cancel() noexcept override { end({errc::cancelled, "cancelled"}); }

    void wind_down() noexcept override {
        report();
        end({errc::unavailable, "the server is stopping"});
    }

private:
    void readiness_changed() noexcept override {
        if (!posted_.exchange(true)) x_.home().post(*this);
    }

    void run() noexcept override {
        posted_ = false;
        if (ended_) return finish();
        report();
    }

    void report() noexcept {
        const serving_status status = known_ ? status_now(context_) : serving_status::service_unknown;
        if (ended_ || status == told_) return;
        told_ = status;
        put_status(status, x_.response);  // fits a string without an allocation
        x_.send_message();
    }

    void end(const error& why) noexcept {
        if (ended_) return;
        ended_ = true;
        context_.protobuf.failure(why, x_.response);
        context_.models.remove_watcher(*this);
        if (!posted_) finish();  // otherwise run() is on its way
    }

    void finish() noexcept { send_answer(context_, x_, {}); }

    const router_context& context_;
    exchange& x_;
    const bool known_;
    serving_status told_ = serving_status::unknown;
    std::atomic<bool> posted_{false};
    bool ended_ = false;
};

}  // namespace

result<progress> health_check(const route_call& call) {
    const result<std::string_view> service = read_service(call.x.request.body);
    if (service.has_error()) return service.error();
    if (!is_service(*service)) return error{errc::not_found, "there is no service " + in_quotes(*service)};
    put_status(status_now(call.context), call.x.response);
    return progress::answered;
}

/// An unknown service is watched too: the health protocol wants SERVICE_UNKNOWN, as it may come into being.
result<progress> health_watch(const route_call& call) {
    const result<std::string_view> service = read_service(call.x.request.body);
    if (service.has_error()) return service.error();
    auto made = std::make_unique<health_watch_operation>(call.context, call.x, is_service(*service));
    health_watch_operation& watch = *made;
    call.x.pending = std::move(made);
    watch.start();
    return progress::pending;
}

}  // namespace asio_infer::handlers
