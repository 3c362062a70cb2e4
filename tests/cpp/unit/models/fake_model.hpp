#pragma once

#include <asio_infer/backend.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/gather.hpp"

namespace asio_infer::testing {

/// A model whose run is a function of the test: from the joined inputs to the outputs.
class fake_model final : public backend_model, public backend_instance {
public:
    using function = std::function<result<std::vector<tensor>>(const std::vector<tensor>& inputs)>;

    fake_model(model_spec spec, function run) : spec_(std::move(spec)), run_(std::move(run)) {}

    const model_spec& spec() const noexcept override { return spec_; }
    std::uint32_t instance_count() const noexcept override { return instances; }
    backend_instance& instance(std::uint32_t index) noexcept override {
        instances_used.push_back(index);
        return *this;
    }
    std::optional<bool> rows_are_independent() const noexcept override { return independent; }
    bool needs_warm_up() const noexcept override { return slow_at_first; }

    void async_run(run_job& job) noexcept override {
        std::vector<tensor> inputs;
        for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
            std::vector<const tensor*> parts;
            for (const infer_call* member : job.members)
                if (member->inputs[i] != nullptr) parts.push_back(member->inputs[i]);
            if (parts.size() > 1) inputs.push_back(gather_rows(parts));
            if (parts.size() == 1) inputs.push_back(*parts.front());
        }
        rows.push_back(job.rows);
        job.outcome = run_(inputs);
        job.compute_ended = job.compute_started + run_time;
        job.receiver->on_run_done(job);
    }

    std::uint32_t instances = 1;
    std::optional<bool> independent;
    bool slow_at_first = true;
    clock::duration run_time{};
    std::vector<std::uint32_t> rows;  ///< of each run
    std::vector<std::uint32_t> instances_used;

private:
    model_spec spec_;
    function run_;
};

inline tensor_spec describe(std::string name, dtype type, shape dims, std::vector<std::string> symbols = {}) {
    tensor_spec spec;
    spec.name = std::move(name);
    spec.type = type;
    symbols.resize(dims.size());
    spec.shape = std::move(dims);
    spec.symbols = std::move(symbols);
    return spec;
}

inline model_spec describe_model(std::vector<tensor_spec> inputs, std::vector<tensor_spec> outputs) {
    model_spec spec;
    spec.name = "fake";
    spec.inputs = std::move(inputs);
    spec.outputs = std::move(outputs);
    return spec;
}

}  // namespace asio_infer::testing
