#include "async_call.hpp"

#include <utility>

#include "loop_batches.hpp"

namespace asio_infer::bindings {

namespace {

py::object owned(PyObject*& pointer) { return py::reinterpret_steal<py::object>(std::exchange(pointer, nullptr)); }

}  // namespace

async_call::async_call(py::object loop, py::object future, const server_handle& server)
    : loop_(loop.release().ptr()), future_(future.release().ptr()), log_(server.log()), server_(server.share()) {}

void async_call::submit(server& to, infer_call_ptr call, const model_ptr& model, const call_arguments& arguments) {
    model_ = model;
    self_ = shared_from_this();
    call->receiver = this;
    to.infer(std::move(call), arguments.model, arguments.version, false);
}

void async_call::cancel(const server_handle& from) {
    if (const model_ptr model = model_.lock()) {
        from.get().cancel(*model, *this);
    }
}

py::dict async_call::result() {
    py::dict outputs = take_outputs(*finished_);
    release_model(std::move(finished_->model));
    return outputs;
}

void async_call::deliver(infer_call_ptr call) noexcept {
    finished_ = std::move(call);
    python_thread::get().post(*this);
}

void async_call::run(loop_batches& loops) noexcept {
    const std::shared_ptr<async_call> self = std::move(self_);
    try {
        loops.add(owned(loop_), owned(future_), py::cast(self), log_);
    } catch (const std::exception&) {
        // Out of memory: the future stays unanswered, and its loop learns nothing.
        PyErr_Clear();
    }
}

}  // namespace asio_infer::bindings
