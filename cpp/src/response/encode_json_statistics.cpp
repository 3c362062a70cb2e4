// json_encoder's statistics, in the layout of Triton's ModelStatistics.
#include <string>

#include "response/encode_json.hpp"
#include "response/json_writer.hpp"

namespace asio_infer {
namespace {

void append_timed(json_writer& json, std::string_view key, const timed_count& value) {
    json.key(key).open('{');
    json.key("count").number(value.count.load(std::memory_order_relaxed));
    json.key("ns").number(value.ns.load(std::memory_order_relaxed));
    json.close('}');
}

void append_sums(json_writer& json, const model_stats& stats) {
    const timed_count no_cache;
    json.key("inference_stats").open('{');
    append_timed(json, "success", stats.success);
    append_timed(json, "fail", stats.fail);
    append_timed(json, "queue", stats.queue);
    append_timed(json, "compute_input", stats.compute_input);
    append_timed(json, "compute_infer", stats.compute_infer);
    append_timed(json, "compute_output", stats.compute_output);
    append_timed(json, "cache_hit", no_cache);
    append_timed(json, "cache_miss", no_cache);
    json.close('}');
}

void append_runs(json_writer& json, const model_stats& stats) {
    json.key("batch_stats").open('[');
    for (std::size_t rows = 0; rows < stats.runs_by_rows.size(); ++rows) {
        const run_of_size& runs = stats.runs_by_rows[rows];
        if (runs.compute_infer.count.load(std::memory_order_relaxed) == 0) continue;
        json.open('{').key("batch_size").number(rows);
        append_timed(json, "compute_input", runs.compute_input);
        append_timed(json, "compute_infer", runs.compute_infer);
        append_timed(json, "compute_output", runs.compute_output);
        json.close('}');
    }
    json.close(']');
}

void append_model(json_writer& json, const served_model& model) {
    const model_stats& stats = model.stats();
    json.open('{').key("name").text(model.spec().name);
    json.key("version").text(std::to_string(model.spec().version));
    json.key("last_inference").number(stats.last_inference_ms.load(std::memory_order_relaxed));
    json.key("inference_count").number(stats.inferences.load(std::memory_order_relaxed));
    json.key("execution_count").number(stats.executions.load(std::memory_order_relaxed));
    append_sums(json, stats);
    append_runs(json, stats);
    json.close('}');
}

}  // namespace

/// In batch_stats the entry of the largest size also counts all larger ones.
void json_encoder::statistics(std::span<const model_ptr> models, response_message& out) const {
    json_writer json(out.text);
    json.open('{').key("model_stats").open('[');
    for (const model_ptr& model : models) append_model(json, *model);
    json.close(']').close('}');
}

}  // namespace asio_infer
