#include <algorithm>
#include <asio_infer/server.hpp>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "core/byte_budget.hpp"
#include "core/cpu_count.hpp"
#include "metrics/metric_set.hpp"
#include "metrics/process_info.hpp"
#include "models/registry.hpp"
#include "protocol/protocol_table.hpp"
#include "protocol/tls/tls_session.hpp"
#include "request/bind.hpp"
#include "request/router.hpp"
#include "response/compress.hpp"
#include "response/encode_json.hpp"
#include "response/encode_protobuf.hpp"
#include "runtime/timer_thread.hpp"
#include "runtime/worker_pool.hpp"
#include "server/model_loader.hpp"
#include "server/network.hpp"

namespace asio_infer {

namespace {

constexpr std::size_t fallback_memory = std::size_t{4} << 30;
/// After the drain limit: what is left is refused and interrupted, and gets this long to be answered.
constexpr std::chrono::milliseconds last_answers{1'000};
constexpr std::chrono::milliseconds idle_check{5};

server_options complete(server_options options) {
    const unsigned cores = usable_cores();
    if (options.io_threads == 0) options.io_threads = std::max(1U, cores / 2);
    if (options.runtime.intra_op_threads == 0) options.runtime.intra_op_threads = cores;
    if (options.limits.inflight_bytes == 0) {
        const std::size_t memory = usable_memory();
        options.limits.inflight_bytes = (memory > 0 ? memory : fallback_memory) / 4;
    }
    return options;
}

}  // namespace

/// Members are in the order of need: each uses only those above it, and the last goes first.
class server::impl {
public:
    impl(server_options given, std::shared_ptr<log_sink> sink)
        : options(complete(std::move(given))),
          log(std::move(sink)),
          budget(options.limits.inflight_bytes),
          workers(usable_cores()),
          keys(make_keys(options)),
          loader{{options.runtime, workers, *log}, timers, options.limits},
          shared_memory(options.limits.max_shared_memory_regions, stats),
          json(options.client_shared_memory),
          protobuf(options.client_shared_memory),
          requests(router_context{.models = models,
                                  .json = json,
                                  .protobuf = protobuf,
                                  .workers = workers,
                                  .limits = options.limits,
                                  .budget = budget,
                                  .keys = keys ? &*keys : nullptr,
                                  .shared_memory = options.client_shared_memory ? &shared_memory : nullptr,
                                  .stats = stats,
                                  .log = *log,
                                  .access_log = options.access_log,
                                  .compress_binary = options.compress_binary,
                                  .metrics_text = [this] { return metrics_text(); },
                                  .compress = &compress_for}),
          local_sessions({requests, options.limits, budget, stats}) {
        if (options.tls)
            tls_sessions.emplace(session_context{requests, options.limits, budget, stats}, *options.tls, *log);
    }

    session_factory& port_sessions() noexcept {
        if (tls_sessions) return *tls_sessions;
        return local_sessions;
    }

    static std::optional<key_ring> make_keys(const server_options& given) {
        if (!given.auth) return std::nullopt;
        return key_ring(*given.auth);
    }

    /// A ring may be a model's last owner and leaves the model's end to the workers; their ends destroy alarms.
    ~impl() { timers.stop(); }

    std::string metrics_text() const {
        const std::vector<model_ptr> all = models.all();
        const process_info process = read_process_info();
        const std::string runtime = onnxruntime_version();
        return render_prometheus({all, stats, budget, process, *log, {ASIO_INFER_VERSION, runtime}});
    }

    /// The models in service, and those that were taken out and still have calls.
    std::vector<model_ptr> all_models() {
        std::vector<model_ptr> all = models.all();
        const std::lock_guard lock(retired_mutex);
        std::erase_if(retired, [](const auto& each) { return each.expired(); });
        for (const auto& each : retired)
            if (model_ptr alive = each.lock()) all.push_back(std::move(alive));
        return all;
    }

    void retire(const model_ptr& model) {
        workers.remove_capacity(model->spec().instances);
        const std::lock_guard lock(retired_mutex);
        std::erase_if(retired, [](const auto& each) { return each.expired(); });
        retired.push_back(model);
    }

    bool models_idle() {
        for (const model_ptr& each : all_models())
            if (each->stats().pending.load() != 0 || each->stats().running.load() != 0) return false;
        return true;
    }

    bool wait_models_idle(time_point until) {
        while (!models_idle()) {
            if (clock::now() >= until) return false;
            std::this_thread::sleep_for(idle_check);
        }
        return true;
    }

    /// A stop with a smaller limit shortens one that runs.
    void end_drain_by(time_point until) noexcept {
        const clock::rep wanted = until.time_since_epoch().count();
        clock::rep known = drain_until;
        while (wanted < known && !drain_until.compare_exchange_weak(known, wanted)) {
        }
    }

    bool drain_is_over() const noexcept { return forced || clock::now().time_since_epoch().count() >= drain_until; }

    void warn_of_open_port() const {
        if (keys && options.tls) return;
        log->write(log_level::warning,
                   keys ? "other machines can reach this server, and keys cross the network in clear text: use TLS"
                        : "other machines can reach this server, and it asks nobody who they are",
                   {{"host", std::string_view(options.host)}});
    }

    void close_models(const error& why, bool interrupt) {
        for (const model_ptr& each : all_models()) each->close(why, interrupt);
    }

    static void compress_for(response_message& response, std::string_view accept, bool binary) {
        compress_body(response, accept, binary);
    }

    const server_options options;
    const std::shared_ptr<log_sink> log;
    server_stats stats;
    byte_budget budget;
    timer_thread timers;
    worker_pool workers;
    const std::optional<key_ring> keys;
    registry models;
    model_loader loader;
    shared_memory_registry shared_memory;
    json_encoder json;
    protobuf_encoder protobuf;
    router requests;
    plain_session_factory local_sessions;
    std::optional<tls::tls_session_factory> tls_sessions;  ///< for the port, if it speaks TLS

    std::mutex retired_mutex;
    std::vector<std::weak_ptr<served_model>> retired;  ///< models that were replaced or unregistered

    std::mutex lifecycle;  ///< held by start and stop from beginning to end
    std::unique_ptr<network> net;
    std::atomic<bool> running{false};
    std::atomic<bool> forced{false};
    std::atomic<clock::rep> drain_until{no_deadline.time_since_epoch().count()};  ///< the earliest of all stops' limits
    bool abandoned = false;  ///< a stop had to leave a run behind that did not end
    std::atomic<std::uint16_t> port{0};
};

server::server(server_options options, std::shared_ptr<log_sink> log)
    : impl_(std::make_unique<impl>(std::move(options), std::move(log))) {
    impl_->port = impl_->options.port;
}

server::~server() {
    stop(std::chrono::milliseconds(0));
    // A run that nothing stops still refers to what is in there.
    if (impl_->abandoned) static_cast<void>(impl_.release());
}

// Models

model_spec server::register_model(model_options options) {
    check_model_options(options);
    if (!options.replace && impl_->models.contains(options.name, options.version))
        throw exception(errc::already_exists, "model '" + options.name + "' version " +
                                                  std::to_string(options.version) +
                                                  " is registered already; replace=True swaps it");
    const std::shared_ptr<scheduler> made =
        impl_->loader.load(options, impl_->models.counters(options.name, options.version));
    const model_spec spec = made->spec();
    impl_->workers.add_capacity(spec.instances);
    if (impl_->running) made->open();
    const result<model_ptr> replaced = impl_->models.add(made, options.replace);
    if (!replaced) {
        impl_->workers.remove_capacity(spec.instances);
        throw exception(replaced.error());
    }
    if (impl_->running) made->open();  // a start may have passed meanwhile
    if (*replaced) impl_->retire(*replaced);
    impl_->log->write(log_level::info, "model registered",
                      {{"model", std::string_view(spec.name)},
                       {"version", spec.version},
                       {"max_batch_rows", std::uint64_t{spec.max_batch_rows}},
                       {"batching", std::string_view(spec.batching_reason)}});
    return spec;
}

void server::unregister_model(const std::string& name, std::optional<std::int64_t> version) {
    const result<std::vector<model_ptr>> removed = impl_->models.remove(name, version);
    if (!removed) throw exception(removed.error());
    for (const model_ptr& each : *removed) impl_->retire(each);
}

std::vector<model_spec> server::models() const {
    std::vector<model_spec> specs;
    for (const model_ptr& each : impl_->models.all()) specs.push_back(each->spec());
    return specs;
}

model_spec server::inspect(model_options options) const {
    check_model_options(options);
    return impl_->loader.describe(options);
}

result<std::shared_ptr<served_model>> server::find(const std::string& name, std::optional<std::int64_t> version) const {
    return impl_->models.find(name, version);
}

// Inference in process

void server::infer(infer_call_ptr call, const std::string& model, std::optional<std::int64_t> version,
                   bool caller_waits) noexcept {
    const auto refuse = [&](const error& why) {
        call->outcome = why;
        call_receiver& receiver = *call->receiver;
        receiver.deliver(std::move(call));
    };
    if (!impl_->running) return refuse({errc::unavailable, "the server is not running: call start() first"});
    const result<model_ptr> found = impl_->models.find(model, version);
    if (!found) return refuse(found.error());
    call->model = *found;
    const result<void> bound = bind(*call, (*found)->spec());
    if (!bound) {
        (*found)->stats().record_failure(bound.error().code, 0);
        return refuse(bound.error());
    }
    (*found)->submit(std::move(call), nullptr, caller_waits);
}

void server::cancel(served_model& model, const call_receiver& receiver) noexcept { model.cancel(receiver); }

// Lifecycle

void server::start() {
    impl& s = *impl_;
    const std::lock_guard lock(s.lifecycle);
    if (s.net) throw exception(errc::invalid_request, "the server is running already");
    auto net = std::make_unique<network>(s.options.io_threads, s.options.limits, s.stats, *s.log);
    s.port = net->open(s.options.host, s.options.port);
    if (!s.options.unix_path.empty()) net->open_unix(s.options.unix_path);
    s.forced = false;
    s.drain_until = no_deadline.time_since_epoch().count();
    for (const model_ptr& each : s.models.all()) each->open();
    s.running = true;
    for (const model_ptr& each : s.models.all()) each->open();  // one that was registered meanwhile
    s.net = std::move(net);
    s.models.set_stopping(false);
    s.net->start(s.port_sessions(), s.local_sessions);
    s.models.set_ready(true);
    const std::string address = url();
    s.log->write(log_level::info, "listening", {{"url", std::string_view(address)}});
    if (!s.options.unix_path.empty())
        s.log->write(log_level::info, "listening", {{"unix", std::string_view(s.options.unix_path)}});
    if (!s.net->loopback_only()) s.warn_of_open_port();
}

void server::stop(std::chrono::milliseconds drain_limit) {
    impl& s = *impl_;
    s.end_drain_by(clock::now() + std::min(drain_limit, s.options.limits.drain_timeout));
    const std::lock_guard lock(s.lifecycle);
    if (!s.net) return;
    s.models.set_ready(false);
    s.models.set_stopping(true);
    s.running = false;
    s.net->retire();
    // Old connections can ask for the server's health as long as anything is under way.
    while (!s.drain_is_over())
        if (s.net->wait_quiet(clock::now() + idle_check) && s.wait_models_idle(clock::now() + idle_check)) break;
    s.net->drain();
    const bool idle = s.models_idle();
    bool drained = false;
    while (idle && !drained && !s.drain_is_over()) drained = s.net->wait_drained(clock::now() + idle_check);
    s.close_models({errc::unavailable, "the server is stopping"}, !idle);
    if (!drained) drained = s.net->wait_drained(clock::now() + last_answers);
    if (!drained) {
        s.net->abort_connections();
        drained = s.net->wait_drained(clock::now() + last_answers);
    }
    const bool ended = s.wait_models_idle(clock::now() + last_answers);
    if (!ended || !drained) {
        s.abandoned = true;
        s.log->write(log_level::error, "stopped, but a run could not be interrupted: its memory is left to it");
    }
    if (!drained) {
        static_cast<void>(s.net.release());
        return;
    }
    s.net.reset();
    if (ended) s.log->write(log_level::info, "stopped");
}

void server::force_stop() noexcept { impl_->forced = true; }

bool server::running() const noexcept { return impl_->running; }
bool server::ready() const noexcept { return impl_->models.ready(); }
std::uint16_t server::port() const noexcept { return impl_->port; }

std::string server::url() const {
    const std::string host = impl_->options.host.empty() ? "0.0.0.0" : impl_->options.host;
    const bool v6 = host.find(':') != std::string::npos;
    return std::string(impl_->options.tls ? "https://" : "http://") + (v6 ? "[" + host + "]" : host) + ":" +
           std::to_string(port());
}

// Reports

std::string server::statistics_json() const {
    const std::vector<model_ptr> all = impl_->models.all();
    response_message out;
    impl_->json.statistics(all, out);
    return out.text;
}

std::string server::metrics_text() const { return impl_->metrics_text(); }

}  // namespace asio_infer
