#pragma once

#include <asio_infer/infer.hpp>
#include <asio_infer/limits.hpp>
#include <asio_infer/log.hpp>
#include <asio_infer/model_spec.hpp>
#include <asio_infer/options.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace asio_infer {

struct server_options {
    std::string host = "127.0.0.1";  ///< an address or a name; "" or "::" for all
    std::uint16_t port = 8000;       ///< 0 takes a free one
    std::string unix_path;           ///< a Unix-domain socket beside the port, without TLS; "" for none
    std::optional<tls_options> tls;
    std::optional<auth_options> auth;  ///< nothing: nobody is asked for a key
    std::uint32_t io_threads = 0;      ///< 0: half of the cores that the process may use, at least 1
    asio_infer::limits limits;
    runtime_options runtime;
    bool client_shared_memory = false;  ///< clients may have tensors read from, and written to, their shared memory
    bool access_log = false;
    bool compress_binary = false;  ///< gzip binary answers too when the client accepts it
};

/// The server: a registry of models, a scheduler for each and, between start and stop, the network. All members may
/// be called from any thread; none touches Python. Failures throw asio_infer::exception.
class server {
public:
    server(server_options options, std::shared_ptr<log_sink> log);
    ~server();  ///< stops first
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Loads, probes and warms the model, then makes it visible in one step. Blocks for as long as that takes.
    model_spec register_model(model_options options);
    /// Removes one version or, without one, all; requests that are in flight end normally. Throws not_found.
    void unregister_model(const std::string& name, std::optional<std::int64_t> version);
    std::vector<model_spec> models() const;
    /// Loads a model only far enough to describe it; nothing is registered.
    model_spec inspect(model_options options) const;

    /// Binds and serves. Throws `unavailable` when the port is in use, naming it; invalid_request for a bad host.
    void start();
    /// Not ready, stop accepting, finish what was received, answer the rest `unavailable`, join. Connections that are
    /// open can ask for the server's health meanwhile. Bounded by `drain_timeout`; a call with a smaller limit, or
    /// force_stop(), shortens one that runs. Repeatable.
    void stop(std::chrono::milliseconds drain_limit);
    /// Cuts a stop that runs in another thread short.
    void force_stop() noexcept;
    bool running() const noexcept;
    bool ready() const noexcept;
    std::uint16_t port() const noexcept;  ///< the real one after start, otherwise as configured
    std::string url() const;

    /// The model that serves `name` (the highest version without one) or not_found. For binding a request.
    result<std::shared_ptr<served_model>> find(const std::string& name, std::optional<std::int64_t> version) const;
    /// Validates the call's request against its model and queues it. On failure the call comes back to its receiver
    /// with the error, as always: exactly one deliver. `caller_waits`: the calling thread does nothing but wait for
    /// it, so the run may happen on it.
    void infer(infer_call_ptr call, const std::string& model, std::optional<std::int64_t> version,
               bool caller_waits) noexcept;
    /// Delivers what `caller` has submitted to the model and not got back as `cancelled`, at once: out of the queue, or
    /// out of its run, which is stopped if nobody else waits for it.
    void cancel(served_model& model, const call_receiver& caller) noexcept;

    /// Statistics as the JSON of GET /v2/models/stats, and the Prometheus text of GET /metrics.
    std::string statistics_json() const;
    std::string metrics_text() const;

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace asio_infer
