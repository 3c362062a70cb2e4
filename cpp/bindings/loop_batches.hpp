#pragma once

#include <asio_infer/log.hpp>
#include <memory>
#include <vector>

#include "python.hpp"

namespace asio_infer::bindings {

/// Finished calls on their way to their event loops: each loop is woken once for all of its calls. Used on the
/// Python thread, with the GIL.
class loop_batches {
public:
    /// `future` belongs to `loop`; `call` is the finished call as Python sees it.
    void add(py::object loop, py::object future, py::object call, std::shared_ptr<log_sink> log);
    /// Passes everything on. Calls of a loop that is closed are dropped, with one log line for all of them.
    void flush() noexcept;

private:
    struct batch {
        py::object loop;
        py::list completions;  // of tuples (future, call)
        std::shared_ptr<log_sink> log;
    };
    static void pass_on(batch& ready);

    std::vector<batch> batches_;
};

}  // namespace asio_infer::bindings
