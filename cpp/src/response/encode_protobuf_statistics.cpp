// protobuf_encoder's statistics: Triton's ModelStatisticsResponse.
#include <string>

#include "response/encode_protobuf.hpp"
#include "response/protobuf_writer.hpp"

namespace asio_infer {
namespace {

using protozero::pbf_writer;

void append_timed(pbf_writer& to, protozero::pbf_tag_type field, const timed_count& value) {
    pbf_writer duration(to, field);
    duration.add_uint64(1, value.count.load(std::memory_order_relaxed));
    duration.add_uint64(2, value.ns.load(std::memory_order_relaxed));
}

void append_sums(pbf_writer& to, const model_stats& stats) {
    const timed_count no_cache;
    pbf_writer sums(to, 6);
    append_timed(sums, 1, stats.success);
    append_timed(sums, 2, stats.fail);
    append_timed(sums, 3, stats.queue);
    append_timed(sums, 4, stats.compute_input);
    append_timed(sums, 5, stats.compute_infer);
    append_timed(sums, 6, stats.compute_output);
    append_timed(sums, 7, no_cache);
    append_timed(sums, 8, no_cache);
}

void append_runs(pbf_writer& to, const model_stats& stats) {
    for (std::size_t rows = 0; rows < stats.runs_by_rows.size(); ++rows) {
        const run_of_size& runs = stats.runs_by_rows[rows];
        if (runs.compute_infer.count.load(std::memory_order_relaxed) == 0) continue;
        pbf_writer batch(to, 7);
        batch.add_uint64(1, rows);
        append_timed(batch, 2, runs.compute_input);
        append_timed(batch, 3, runs.compute_infer);
        append_timed(batch, 4, runs.compute_output);
    }
}

void append_model(pbf_writer& to, const served_model& model) {
    const model_stats& stats = model.stats();
    pbf_writer entry(to, 1);
    add_text(entry, 1, model.spec().name);
    add_text(entry, 2, std::to_string(model.spec().version));
    entry.add_uint64(3, stats.last_inference_ms.load(std::memory_order_relaxed));
    entry.add_uint64(4, stats.inferences.load(std::memory_order_relaxed));
    entry.add_uint64(5, stats.executions.load(std::memory_order_relaxed));
    append_sums(entry, stats);
    append_runs(entry, stats);
}

}  // namespace

/// In batch_stats the entry of the largest size also counts all larger ones.
void protobuf_encoder::statistics(std::span<const model_ptr> models, response_message& out) const {
    out.content_type = grpc_content_type;
    pbf_writer message(out.text);
    for (const model_ptr& model : models) append_model(message, *model);
}

}  // namespace asio_infer
