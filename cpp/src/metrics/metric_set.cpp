#include "metrics/metric_set.hpp"

#include <array>
#include <atomic>
#include <boost/version.hpp>
#include <charconv>
#include <cstddef>
#include <optional>

#include "core/status_table.hpp"
#include "metrics/sample_writer.hpp"

namespace asio_infer {

namespace {

using enum metric_type;

template <class T>
T load(const std::atomic<T>& value) noexcept {
    return value.load(std::memory_order_relaxed);
}

std::uint64_t microseconds(const timed_count& of) noexcept { return load(of.ns) / 1'000; }

/// Calls `write(model, version)` for each model with its version as text.
template <class Write>
void for_each_model(const metrics_sources& sources, Write write) {
    for (const model_ptr& model : sources.models) {
        std::array<char, 24> memory;
        const auto end = std::to_chars(memory.data(), memory.data() + memory.size(), model->spec().version).ptr;
        write(*model, std::string_view(memory.data(), end));
    }
}

/// One number for each model.
template <auto Read>
void per_model(const metrics_sources& sources, sample_writer& out) {
    for_each_model(sources, [&](const served_model& model, std::string_view version) {
        out.sample({{"model", model.spec().name}, {"version", version}}, Read(model.stats()));
    });
}

/// One histogram for each model.
template <auto Member>
void distribution_per_model(const metrics_sources& sources, sample_writer& out) {
    for_each_model(sources, [&](const served_model& model, std::string_view version) {
        out.distribution({{"model", model.spec().name}, {"version", version}}, model.stats().*Member);
    });
}

/// One number of the server.
template <auto Read>
void single(const metrics_sources& sources, sample_writer& out) {
    out.sample({}, Read(sources));
}

/// One number that the operating system may not tell.
template <auto Member>
void of_process(const metrics_sources& sources, sample_writer& out) {
    if (const auto& value = sources.process.*Member) out.sample({}, *value);
}

constexpr std::array<std::string_view, 4> failure_reasons{"REJECTED", "CANCELED", "BACKEND", "OTHER"};

constexpr bool every_failure_has_a_reason() {
    for (const status_row& row : status_table) {
        bool found = false;
        for (const std::string_view reason : failure_reasons) found = found || reason == row.failure;
        if (!found) return false;
    }
    return true;
}
static_assert(every_failure_has_a_reason());

std::uint64_t failures_by(std::string_view reason, const model_stats& stats) noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < errc_count; ++i) {
        if (status_table[i].failure == reason) sum += load(stats.failures[i]);
    }
    return sum;
}

void collect_failures(const metrics_sources& sources, sample_writer& out) {
    for_each_model(sources, [&](const served_model& model, std::string_view version) {
        for (const std::string_view reason : failure_reasons) {
            out.sample({{"model", model.spec().name}, {"version", version}, {"reason", reason}},
                       failures_by(reason, model.stats()));
        }
    });
}

void collect_responses(const metrics_sources& sources, sample_writer& out) {
    constexpr std::array<std::string_view, 6> classes{"", "1xx", "2xx", "3xx", "4xx", "5xx"};
    for (std::size_t i = 1; i < classes.size(); ++i) {
        out.sample({{"class", classes[i]}}, load(sources.server.responses[i]));
    }
}

void collect_refused(const metrics_sources& sources, sample_writer& out) {
    for (std::size_t i = 0; i < errc_count; ++i) {
        out.sample({{"reason", status_table[i].name}}, load(sources.server.refused[i]));
    }
}

void collect_build_info(const metrics_sources& sources, sample_writer& out) {
#ifdef __VERSION__
    constexpr std::string_view compiler = __VERSION__;
#else
    constexpr std::string_view compiler = "unknown";
#endif
    out.sample({{"version", sources.build.version},
                {"onnxruntime", sources.build.onnxruntime},
                {"boost", BOOST_LIB_VERSION},
                {"compiler", compiler}},
               1);
}

constexpr std::array metrics{
    // Triton's, by which existing dashboards know them.
    metric{"nv_inference_request_success", counter, "requests", "model, version",
           "Requests that were answered with a result.",
           per_model<[](const model_stats& s) { return load(s.success.count); }>},
    metric{"nv_inference_request_failure", counter, "requests", "model, version, reason",
           "Requests to this model that were answered with an error, by reason.", collect_failures},
    metric{"nv_inference_count", counter, "rows", "model, version",
           "Inferences: a request of n rows in a batched model counts n.",
           per_model<[](const model_stats& s) { return load(s.inferences); }>},
    metric{"nv_inference_exec_count", counter, "runs", "model, version",
           "Runs of the model: a batch of several requests is one.",
           per_model<[](const model_stats& s) { return load(s.executions); }>},
    metric{"nv_inference_pending_request_count", gauge, "requests", "model, version",
           "Requests that wait in the queue.", per_model<[](const model_stats& s) { return load(s.pending); }>},
    metric{"nv_inference_request_duration_us", counter, "microseconds", "model, version",
           "Time of successful requests from arrival to result, summed.",
           per_model<[](const model_stats& s) { return microseconds(s.success); }>},
    metric{"nv_inference_queue_duration_us", counter, "microseconds", "model, version",
           "Time of successful requests in the queue, summed.",
           per_model<[](const model_stats& s) { return microseconds(s.queue); }>},
    metric{"nv_inference_compute_input_duration_us", counter, "microseconds", "model, version",
           "Time spent gathering inputs, summed.",
           per_model<[](const model_stats& s) { return microseconds(s.compute_input); }>},
    metric{"nv_inference_compute_infer_duration_us", counter, "microseconds", "model, version",
           "Time spent running the model, summed.",
           per_model<[](const model_stats& s) { return microseconds(s.compute_infer); }>},
    metric{"nv_inference_compute_output_duration_us", counter, "microseconds", "model, version",
           "Time spent fetching and splitting outputs, summed.",
           per_model<[](const model_stats& s) { return microseconds(s.compute_output); }>},

    // Our own, of each model.
    metric{"asio_infer_request_seconds", histogram, "seconds", "model, version",
           "Time of a successful request from arrival to result.",
           distribution_per_model<&model_stats::request_seconds>},
    metric{"asio_infer_queue_seconds", histogram, "seconds", "model, version",
           "Time of a successful request in the queue.", distribution_per_model<&model_stats::queue_seconds>},
    metric{"asio_infer_run_seconds", histogram, "seconds", "model, version", "Time of one run of the model.",
           distribution_per_model<&model_stats::run_seconds>},
    metric{"asio_infer_batch_rows", histogram, "rows", "model, version", "Rows in one run of the model.",
           distribution_per_model<&model_stats::batch_rows>},
    metric{"asio_infer_requests_running", gauge, "requests", "model, version",
           "Requests in a run of the model, with those whose callers have gone meanwhile.",
           per_model<[](const model_stats& s) { return load(s.running); }>},

    // Of the server.
    metric{"asio_infer_http_requests_total", counter, "requests", "", "HTTP requests, refused ones included.",
           single<[](const metrics_sources& s) { return load(s.server.requests); }>},
    metric{"asio_infer_http_responses_total", counter, "responses", "class", "HTTP responses by class of status.",
           collect_responses},
    metric{"asio_infer_http_refused_total", counter, "requests", "reason",
           "Requests that failed before a model was found, by error code.", collect_refused},
    metric{"asio_infer_connections_open", gauge, "connections", "", "Connections that are open.",
           single<[](const metrics_sources& s) { return load(s.server.connections_open); }>},
    metric{"asio_infer_connections_accepted_total", counter, "connections", "", "Connections that were accepted.",
           single<[](const metrics_sources& s) { return load(s.server.connections_accepted); }>},
    metric{"asio_infer_tls_handshake_failures_total", counter, "handshakes", "",
           "TLS handshakes that failed or took too long.",
           single<[](const metrics_sources& s) { return load(s.server.tls_failures); }>},
    metric{"asio_infer_connections_refused_total", counter, "connections", "",
           "Connections that were closed at once because too many were open.",
           single<[](const metrics_sources& s) { return load(s.server.connections_refused); }>},
    metric{"asio_infer_shared_memory_regions", gauge, "regions", "", "Regions of clients' shared memory.",
           single<[](const metrics_sources& s) { return load(s.server.shared_regions); }>},
    metric{"asio_infer_received_bytes_total", counter, "bytes", "", "Bytes received over the network.",
           single<[](const metrics_sources& s) { return load(s.server.bytes_received); }>},
    metric{"asio_infer_sent_bytes_total", counter, "bytes", "", "Bytes sent over the network.",
           single<[](const metrics_sources& s) { return load(s.server.bytes_sent); }>},
    metric{"asio_infer_inflight_bytes", gauge, "bytes", "", "Bytes of requests and responses in flight.",
           single<[](const metrics_sources& s) { return std::uint64_t{s.inflight.used()}; }>},
    metric{"asio_infer_inflight_limit_bytes", gauge, "bytes", "", "The most bytes that may be in flight.",
           single<[](const metrics_sources& s) { return std::uint64_t{s.inflight.limit()}; }>},
    metric{"asio_infer_log_records_dropped_total", counter, "records", "",
           "Log records that were dropped because they came faster than they could be written.",
           single<[](const metrics_sources& s) { return s.log.dropped(); }>},
    metric{"asio_infer_build_info", gauge, "", "version, onnxruntime, boost, compiler",
           "Always 1; the labels say what this program is made of.", collect_build_info},

    // Of the process, by the names that Prometheus' own client libraries use.
    metric{"process_cpu_seconds_total", counter, "seconds", "", "Processor time, user and system.",
           of_process<&process_info::cpu_seconds>},
    metric{"process_resident_memory_bytes", gauge, "bytes", "", "Resident memory.",
           of_process<&process_info::resident_bytes>},
    metric{"process_virtual_memory_bytes", gauge, "bytes", "", "Virtual memory.",
           of_process<&process_info::virtual_bytes>},
    metric{"process_open_fds", gauge, "descriptors", "", "Open file descriptors.",
           of_process<&process_info::open_descriptors>},
    metric{"process_max_fds", gauge, "descriptors", "", "The most file descriptors that may be open.",
           of_process<&process_info::max_descriptors>},
    metric{"process_threads", gauge, "threads", "", "Threads.", of_process<&process_info::threads>},
    metric{"process_start_time_seconds", gauge, "seconds", "", "Start of the process, in seconds since 1970.",
           of_process<&process_info::start_time_seconds>},
};

}  // namespace

std::span<const metric> metric_set() noexcept { return metrics; }

std::string render_prometheus(const metrics_sources& sources) {
    std::string out;
    for (const metric& row : metrics) {
        sample_writer writer(out, row);
        row.collect(sources, writer);
    }
    return out;
}

}  // namespace asio_infer
