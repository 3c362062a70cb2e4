#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/infer.hpp>
#include <asio_infer/model_spec.hpp>

namespace asio_infer {

/// Checks call.request against the model and fills call.inputs (by the model's position; they point into
/// call.request), call.outputs and call.rows. Same for every protocol and for calls from Python.
///
/// Refused, each with a message that names the tensor: names that the model does not have, that repeat or are missing;
/// another datatype; another rank or another size of a fixed dim; dims of one symbolic name that differ; tensors that
/// the protocol cannot carry; in a batched model leading dims that differ, or more rows than max_batch_rows.
/// A request without outputs gets all that can be carried. A batched request of 0 rows is valid.
/// Pure, thread-safe. On an error the call's bound members are unspecified.
result<void> bind(infer_call& call, const model_spec& spec);

}  // namespace asio_infer
