#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <pybind11/stl.h>

#include "async_call.hpp"
#include "call_builder.hpp"
#include "exit_gate.hpp"
#include "gil.hpp"
#include "python.hpp"
#include "python_thread.hpp"
#include "server_handle.hpp"
#include "sync_call.hpp"

namespace asio_infer::bindings {

namespace {

/// How long a wait in the main thread goes on without looking for signals.
constexpr auto signal_interval = std::chrono::milliseconds(50);

time_point next_look() { return in_main_thread() ? clock::now() + signal_interval : no_deadline; }

/// The wait of one synchronous call. Tells the server when the caller loses interest.
class waiting_call {
public:
    waiting_call(const server_handle& from, const built_call& built) : server_(from.get()), model_(built.model) {}

    /// Submits the call and returns it finished. An exception of a signal handler cancels the call and passes on once
    /// the call is back; a second one passes on at once.
    infer_call_ptr run(infer_call_ptr call, const call_arguments& arguments) {
        call->receiver = &waiter_->expect();
        const time_point until = next_look();
        infer_call_ptr done = without_gil([&] {
            server_.infer(std::move(call), arguments.model, arguments.version, true);
            return waiter_->wait_until(until);
        });
        return done ? std::move(done) : wait_on();
    }

private:
    infer_call_ptr wait_on() {
        for (;;) {
            if (PyErr_CheckSignals() != 0) {
                give_up();
            }
            if (infer_call_ptr done = wait_a_little()) {
                return done;
            }
        }
    }
    [[noreturn]] void give_up() {
        const py::error_already_set interrupted;
        without_gil([this] { server_.cancel(*model_, *waiter_); });
        while (!wait_a_little()) {
            if (PyErr_CheckSignals() != 0) {
                break;
            }
        }
        PyErr_Clear();
        throw interrupted;
    }
    infer_call_ptr wait_a_little() {
        const time_point until = next_look();
        return without_gil([&] { return waiter_->wait_until(until); });
    }

    server& server_;
    model_ptr model_;
    std::shared_ptr<sync_call> waiter_ = std::make_shared<sync_call>();
};

py::dict infer(const server_handle& server, std::string model, std::optional<std::int64_t> version, py::object inputs,
               py::object outputs, py::object parameters, std::string id, std::optional<double> timeout_s) {
    const call_arguments arguments{std::move(model),      version,       std::move(inputs), std::move(outputs),
                                   std::move(parameters), std::move(id), timeout_s};
    built_call built = build_call(server, arguments);
    const infer_call_ptr done = waiting_call(server, built).run(std::move(built.call), arguments);
    py::dict result = take_outputs(*done);
    release_model(std::move(built.model));
    release_model(std::move(done->model));
    return result;
}

std::shared_ptr<async_call> infer_async(const server_handle& server, py::object loop, py::object future,
                                        std::string model, std::optional<std::int64_t> version, py::object inputs,
                                        py::object outputs, py::object parameters, std::string id,
                                        std::optional<double> timeout_s) {
    python_thread::get().ensure_started();
    const call_arguments arguments{std::move(model),      version,       std::move(inputs), std::move(outputs),
                                   std::move(parameters), std::move(id), timeout_s};
    built_call built = build_call(server, arguments);
    auto pending = std::make_shared<async_call>(std::move(loop), std::move(future), server);
    without_gil([&] {
        pending->submit(server.get(), std::move(built.call), built.model, arguments);
        built.model.reset();
    });
    return pending;
}

void cancel(async_call& call, const server_handle& server) {
    without_gil([&] { call.cancel(server); });
}

}  // namespace

void register_infer(py::module_& m) {
    py::class_<async_call, std::shared_ptr<async_call>>(m, "AsyncCall", "A call whose result goes to a future.")
        .def("result", &async_call::result, py::call_guard<python_visit>(),
             "The outputs by name, once; raises the call's error.")
        .def("cancel", &cancel, py::arg("server"), py::call_guard<python_visit>(),
             "Takes the call out of the queue if it still waits there.");
    m.def("infer", &infer, py::arg("server"), py::arg("model"), py::arg("version").none(true), py::arg("inputs"),
          py::arg("outputs").none(true), py::arg("parameters").none(true), py::arg("id"),
          py::arg("timeout_s").none(true), py::call_guard<python_visit>(),
          "The outputs by name. Waits without the GIL.");
    m.def("infer_async", &infer_async, py::arg("server"), py::arg("loop"), py::arg("future"), py::arg("model"),
          py::arg("version").none(true), py::arg("inputs"), py::arg("outputs").none(true),
          py::arg("parameters").none(true), py::arg("id"), py::arg("timeout_s").none(true),
          py::call_guard<python_visit>(), "Starts a call that ends in `future`, which belongs to `loop`.");
}

}  // namespace asio_infer::bindings
