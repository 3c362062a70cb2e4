#include "server/model_loader.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "models/probe.hpp"
#include "models/registry.hpp"
#include "models/warmup.hpp"

namespace asio_infer {

namespace {

constexpr std::uint32_t most_instances = 1'024;
constexpr std::uint32_t most_rows = 65'536;
constexpr std::uint32_t most_queued = 1'000'000;
constexpr double most_seconds = 86'400;

[[noreturn]] void refuse(const std::string& message) { throw exception(errc::invalid_request, message); }

void check_range(const char* what, double value, double least, double most) {
    if (value >= least && value <= most) return;  // false for NaN
    std::string text = std::to_string(value);
    if (std::isfinite(value) && value == std::floor(value)) text.erase(text.find('.'));
    refuse(std::string(what) + " is " + text + "; it must be from " + std::to_string(static_cast<std::int64_t>(least)) +
           " to " + std::to_string(static_cast<std::int64_t>(most)));
}

clock::duration to_duration(double seconds) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
}

/// The backend's spec, completed with what the options say.
model_spec complete_spec(backend_model& model, const model_options& options) {
    model_spec spec = model.spec();
    spec.name = options.name;
    spec.version = options.version;
    spec.instances = model.instance_count();
    spec.max_queue_size = options.queue.max_size;
    if (options.batching.choice == batching_options::mode::off) {
        spec.batching_reason = "batching is off";
        return spec;
    }
    const probe_result probed = probe_batching(model, options.batching.choice);
    spec.batching_reason = probed.reason;
    if (!probed.batchable) return spec;
    spec.max_batch_rows = options.batching.max_rows;
    spec.max_batch_delay_s = options.batching.max_delay_s;
    return spec;
}

/// Three runs like the warm-up's make a short model known as one; a longer first run says little.
std::vector<double> seeds(const warmup_result& warm, std::chrono::nanoseconds limit) {
    const bool is_short = warm.one_row_s > 0 && std::chrono::duration<double>(warm.one_row_s) <= limit;
    return is_short ? std::vector<double>(3, warm.one_row_s) : std::vector<double>{};
}

}  // namespace

void check_model_options(const model_options& options) {
    if (const result<void> named = check_model_name(options.name); !named) throw exception(named.error());
    if (options.version < 1) refuse("version is " + std::to_string(options.version) + "; it must be at least 1");
    check_range("instances", options.instances, 1, most_instances);
    check_range("batching.max_size", options.batching.max_rows, 1, most_rows);
    check_range("batching.max_delay_s", options.batching.max_delay_s, 0, most_seconds);
    check_range("queue.max_size", options.queue.max_size, 1, most_queued);
    check_range("queue.timeout_s", options.queue.timeout_s, 0, most_seconds);
}

model_spec model_loader::describe(const model_options& options) const {
    const std::unique_ptr<backend_model> model = make_backend_model(options.backend, options, backend);
    return complete_spec(*model, options);
}

std::shared_ptr<scheduler> model_loader::load(const model_options& options, std::shared_ptr<model_stats> stats) const {
    std::unique_ptr<backend_model> model = make_backend_model(options.backend, options, backend);
    model_spec spec = complete_spec(*model, options);
    warmup_result warm;
    if (options.warmup) warm = warm_up(*model, spec.max_batch_rows);
    if (!warm.warning.empty())
        backend.log.write(log_level::warning, "a model could not be warmed; its first request will take longer",
                          {{"model", std::string_view(options.name)}, {"reason", std::string_view(warm.warning)}});
    const std::chrono::microseconds inline_max(bounds.inline_max_us);
    const scheduler_options scheduling{
        .limits = {.max_rows = spec.max_batch_rows,
                   .max_delay = to_duration(spec.max_batch_delay_s),
                   .max_queue = options.queue.max_size,
                   .queue_timeout = to_duration(options.queue.timeout_s),
                   .instances = spec.instances},
        .inline_max = inline_max,
        .measured_run_seconds = seeds(warm, inline_max),
    };
    return scheduler::make(std::move(spec), std::move(model), scheduling, alarms, backend.workers, std::move(stats));
}

}  // namespace asio_infer
