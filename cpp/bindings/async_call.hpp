#pragma once

#include <asio_infer/infer.hpp>
#include <memory>

#include "call_builder.hpp"
#include "core/served_model.hpp"
#include "python.hpp"
#include "python_thread.hpp"
#include "server_handle.hpp"

namespace asio_infer::bindings {

/// One call whose result goes to an asyncio future. Python holds it beside the future; it holds itself and the
/// future while the call is under way.
class async_call final : public call_receiver, public python_work, public std::enable_shared_from_this<async_call> {
public:
    /// With the GIL.
    async_call(py::object loop, py::object future, const server_handle& server);
    ~async_call() = default;

    /// Hands the call to the server. Without the GIL.
    void submit(server& to, infer_call_ptr call, const model_ptr& model, const call_arguments& arguments);
    /// Has the call delivered as `cancelled` if it is not back yet. Any time after submit, without the GIL.
    void cancel(const server_handle& from);
    /// The outputs, once, or the call's error as an exception. In the event loop, with the GIL.
    py::dict result();

    void deliver(infer_call_ptr call) noexcept override;
    void run(loop_batches& loops) noexcept override;

private:
    // Not py::object: the last owner of this object may be a thread without the GIL, but run() has emptied them by
    // then, or the interpreter has ended and they must be left alone.
    PyObject* loop_;
    PyObject* future_;
    std::shared_ptr<log_sink> log_;
    std::shared_ptr<const void> server_;  ///< outlives the model that `finished_` may be the last to hold
    std::weak_ptr<served_model> model_;
    infer_call_ptr finished_;
    std::shared_ptr<async_call> self_;
};

}  // namespace asio_infer::bindings
