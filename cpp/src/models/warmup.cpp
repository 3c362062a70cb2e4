#include "models/warmup.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "models/sample_run.hpp"

namespace asio_infer {
namespace {

/// A first run is slower than those that follow; a quick one is repeated for a better figure.
constexpr clock::duration quick_run = std::chrono::milliseconds(50);

/// A full batch that would take longer than this is left to the first requests.
constexpr double most_batch_s = 5;

double seconds(clock::duration time) noexcept { return std::chrono::duration<double>(time).count(); }

/// The time of one run of the call, or why it failed.
result<double> timed_run(backend_instance& instance, const model_spec& spec, infer_call& call) {
    infer_call* const calls[] = {&call};
    clock::duration took{};
    auto first = run_sample(instance, spec, calls, took);
    if (!first) return first.error();
    if (took < quick_run) {
        clock::duration again{};
        if (run_sample(instance, spec, calls, again)) took = std::min(took, again);
    }
    return seconds(took);
}

struct attempt {
    infer_call call;
    double seconds;
};

/// The first style of inputs with which the instance runs, or the first one's reason. Nothing to run if the inputs are
/// too large to make up.
result<std::optional<attempt>> first_that_runs(backend_instance& instance, const model_spec& spec, std::uint32_t rows) {
    std::optional<error> reason;
    for (const sample_style& style : sample_styles) {
        auto call = make_sample_call(spec, style, rows, 0);
        if (!call) continue;
        const auto time = timed_run(instance, spec, *call);
        if (time) return std::optional<attempt>(attempt{std::move(*call), *time});
        if (!reason) reason = time.error();
    }
    if (reason) return *reason;
    return std::optional<attempt>{};
}

/// Warms all instances with this many rows. The slowest instance's time, or 0 and a warning.
double warm_up_rows(backend_model& model, std::uint32_t rows, std::string& warning) {
    auto worked = first_that_runs(model.instance(0), model.spec(), rows);
    if (!worked) {
        if (!warning.empty()) warning += "; ";
        warning += "a run of " + std::to_string(rows) + " made-up row(s) failed: " + worked.error().message;
        return 0;
    }
    std::optional<attempt>& first = *worked;
    if (!first) return 0;
    double slowest = first->seconds;
    for (std::uint32_t i = 1; i < model.instance_count(); ++i)
        if (const auto time = timed_run(model.instance(i), model.spec(), first->call))
            slowest = std::max(slowest, *time);
    return slowest;
}

}  // namespace

warmup_result warm_up(backend_model& model, std::uint32_t max_rows) {
    warmup_result result;
    if (!model.needs_warm_up()) return result;
    result.one_row_s = warm_up_rows(model, 1, result.warning);
    if (max_rows > 1 && result.one_row_s * max_rows <= most_batch_s)
        result.full_batch_s = warm_up_rows(model, max_rows, result.warning);
    return result;
}

}  // namespace asio_infer
