#include "loop_batches.hpp"

#include <cstdint>
#include <utility>

namespace asio_infer::bindings {

void loop_batches::add(py::object loop, py::object future, py::object call, std::shared_ptr<log_sink> log) {
    const py::tuple completion = py::make_tuple(std::move(future), std::move(call));
    for (batch& known : batches_) {
        if (known.loop.is(loop)) {
            known.completions.append(completion);
            return;
        }
    }
    batches_.push_back({std::move(loop), py::list(), std::move(log)});
    batches_.back().completions.append(completion);
}

void loop_batches::flush() noexcept {
    for (batch& ready : batches_) {
        try {
            pass_on(ready);
        } catch (py::error_already_set& e) {
            e.discard_as_unraisable("asio_infer: handing results to an event loop");
        } catch (const std::exception&) {
            // Out of memory: nobody is left who could be told.
        }
    }
    batches_.clear();
}

void loop_batches::pass_on(batch& ready) {
    if (py::cast<bool>(ready.loop.attr("is_closed")())) {
        ready.log->write(log_level::warning, "results dropped: their event loop is closed",
                         {{"count", static_cast<std::uint64_t>(ready.completions.size())}});
        return;
    }
    const py::object complete = py::module_::import("asio_infer._async").attr("complete");
    ready.loop.attr("call_soon_threadsafe")(complete, ready.completions);
}

}  // namespace asio_infer::bindings
