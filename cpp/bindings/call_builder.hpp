#pragma once

#include <asio_infer/infer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "core/served_model.hpp"
#include "python.hpp"
#include "server_handle.hpp"

namespace asio_infer::bindings {

/// The arguments of Server.infer and Server.infer_async as Python gives them.
struct call_arguments {
    std::string model;
    std::optional<std::int64_t> version;
    py::object inputs;      ///< a mapping from names to arrays, lists or numbers
    py::object outputs;     ///< a sequence of names, or None
    py::object parameters;  ///< a mapping from names to bool, int, float or str, or None
    std::string id;
    std::optional<double> timeout_s;
};

struct built_call {
    infer_call_ptr call;
    model_ptr model;  ///< the one that the inputs were converted for
};

/// Copies everything that the call needs out of Python: later changes of the arrays have no effect. Throws not_found,
/// TypeError for dtypes that do not fit, invalid_request for values that do not. With the GIL.
built_call build_call(const server_handle& server, const call_arguments& arguments);

/// The outputs of a finished call by name, or its error as an exception. Takes the tensors. With the GIL.
py::dict take_outputs(infer_call& call);

/// Drops a reference to a model that may be the last one: unloading takes time, so the GIL is released for it.
void release_model(model_ptr model);

}  // namespace asio_infer::bindings
