#pragma once

#include <asio_infer/infer.hpp>

namespace asio_infer {

/// Whether two bound calls of one batched model may share a run: each then gets what it would have got alone. True if
/// the same inputs are present, every input agrees in all dims but the first, and the request and input parameters are
/// equal. Which outputs each wants does not matter. Calls without rows run alone: there is nothing to cut out for them;
/// so do those with an input that has no batch axis.
bool may_share_run(const infer_call& a, const infer_call& b) noexcept;

}  // namespace asio_infer
