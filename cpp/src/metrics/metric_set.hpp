#pragma once

#include <asio_infer/log.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/byte_budget.hpp"
#include "core/model_stats.hpp"
#include "core/served_model.hpp"
#include "metrics/process_info.hpp"

namespace asio_infer {

class sample_writer;

/// Versions of what this program is made of, for asio_infer_build_info.
struct build_info {
    std::string_view version;      ///< of this package
    std::string_view onnxruntime;  ///< of the library that is loaded; "" while none is
};

/// What the metrics are read from. Nothing is locked: counters that belong together may be a few events apart.
struct metrics_sources {
    std::span<const model_ptr> models;  ///< every version of every model that is loaded
    const server_stats& server;
    const byte_budget& inflight;
    const process_info& process;
    const log_sink& log;
    build_info build;
};

enum class metric_type : std::uint8_t { counter, gauge, histogram };

constexpr std::string_view name(metric_type type) noexcept {
    constexpr std::string_view names[] = {"counter", "gauge", "histogram"};
    return names[static_cast<std::size_t>(type)];
}

/// One metric: a row of the set. To add one, add a row.
struct metric {
    std::string_view name;
    metric_type type;
    std::string_view unit;    ///< what the value counts: "seconds", "bytes", "requests"
    std::string_view labels;  ///< their names, separated by ", "
    std::string_view help;    ///< one line
    /// Writes the samples. Label values come from configuration only (names of models that are loaded), never from
    /// requests: a client cannot make a series.
    void (*collect)(const metrics_sources& sources, sample_writer& out);
};

/// Every metric of the server, in the order of the text.
std::span<const metric> metric_set() noexcept;

/// The Prometheus text format, version 0.0.4. Throws std::bad_alloc.
std::string render_prometheus(const metrics_sources& sources);

/// docs/metrics.md.
std::string metrics_markdown();

}  // namespace asio_infer
