#pragma once

#include <asio_infer/backend.hpp>
#include <cstdint>
#include <string>

namespace asio_infer {

/// What a model's first runs showed.
struct warmup_result {
    double one_row_s = 0;     ///< the runtime's time for one row; 0 if that could not be run
    double full_batch_s = 0;  ///< ... and for `max_rows` rows; 0 also if they would take too long to try
    std::string warning;      ///< what could not be run and why; empty if nothing
};

/// Runs every instance with made-up inputs, so that the first request does not pay for what a runtime puts off: with
/// one row and, if `max_rows` is above 1, with as many. Nothing is run where the backend has no need of it. Blocks.
/// Failures are no error: made-up inputs may be wrong for the model. No job may run on the model meanwhile.
warmup_result warm_up(backend_model& model, std::uint32_t max_rows);

}  // namespace asio_infer
