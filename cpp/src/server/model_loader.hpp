#pragma once

#include <asio_infer/limits.hpp>
#include <asio_infer/options.hpp>
#include <memory>

#include "backend/backend_table.hpp"
#include "core/alarm.hpp"
#include "scheduler/scheduler.hpp"

namespace asio_infer {

/// Makes models out of options: load, decide on batching, warm, give it a scheduler.
struct model_loader {
    backend_context backend;
    alarm_factory& alarms;
    const limits& bounds;

    /// A model that is ready to be opened. Blocks for as long as the loading takes. Throws asio_infer::exception.
    /// It counts in `stats`.
    std::shared_ptr<scheduler> load(const model_options& options, std::shared_ptr<model_stats> stats) const;
    /// What load() would serve, without warming it.
    model_spec describe(const model_options& options) const;
};

/// Names, numbers and combinations that no model can have: invalid_request that holds the value. Pure.
void check_model_options(const model_options& options);

}  // namespace asio_infer
