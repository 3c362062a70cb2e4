#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/tensor.hpp>
#include <boost/container/small_vector.hpp>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace asio_infer {

using clock = std::chrono::steady_clock;
using time_point = clock::time_point;
inline constexpr time_point no_deadline = time_point::max();

/// The value of a request, input or output parameter. Unsigned values above INT64_MAX are uint64.
using parameter_value = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;
using parameter_list = std::vector<std::pair<std::string, parameter_value>>;

/// A part of a region of shared memory that a client has registered.
struct shared_memory_ref {
    std::string region;
    std::uint64_t offset = 0;
    std::uint64_t byte_size = 0;
};

struct named_tensor {
    std::string name;
    tensor value;
    parameter_list parameters;  ///< without those that describe the encoding (binary_data_size)
    std::optional<shared_memory_ref> shared =
        std::nullopt;  ///< where its bytes come from, if they were not in the request
};

struct requested_output {
    std::string name;
    bool binary = false;               ///< answered as raw bytes behind the JSON
    std::uint32_t classification = 0;  ///< k > 0: the k highest as "value:index" strings
    parameter_list parameters;
    std::optional<shared_memory_ref> shared = std::nullopt;  ///< where its bytes go, if not into the answer
};

/// An inference as a client states it, whatever protocol it came by.
struct infer_request {
    std::string id;
    parameter_list parameters;              ///< without timeout and binary_data_output, which have members
    std::vector<named_tensor> inputs;       ///< in the client's order
    std::vector<requested_output> outputs;  ///< empty: all outputs of the model
    bool binary_output = false;             ///< what outputs that do not say get (binary_data_output)
    std::uint64_t timeout_us = 0;           ///< 0: none of its own
};

class infer_call;
class served_model;
using infer_call_ptr = std::unique_ptr<infer_call>;

/// Where a finished call goes back to. Implemented by a connection's exchange, by Python's waiters, by tests.
class call_receiver {
public:
    /// Takes the call back with its result set; called exactly once for each call that was submitted, on any
    /// thread, with no lock held. Must not block. A call that was cancelled, or whose deadline came, while it ran is
    /// stood in for by another object with its error: the run keeps the original and its tensors to the end.
    virtual void deliver(infer_call_ptr call) noexcept = 0;

protected:
    ~call_receiver() = default;
};

/// One inference on its way. Owned by one stage at a time: its caller, the scheduler, a batch, its caller again.
class infer_call {
public:
    infer_request request;

    /// Set by validation ("bind"): the request's tensors at the model's input positions, and which of the model's
    /// outputs are wanted, in the order of the answer.
    struct bound_output {
        std::uint32_t index;  ///< into model_spec::outputs
        bool binary;
        std::uint32_t classification;
    };
    boost::container::small_vector<const tensor*, 4>
        inputs;  ///< by model input; null where an optional one is left out
    boost::container::small_vector<bound_output, 4> outputs;
    std::uint32_t rows = 1;   ///< the leading dim in a batched model, otherwise 1
    bool runs_alone = false;  ///< gives an input that has no batch axis, which cannot be joined with another's

    std::shared_ptr<served_model> model;  ///< keeps it loaded while the call lives
    call_receiver* receiver = nullptr;    ///< outlives the call; null once nobody waits for a run's result
    time_point arrived{};                 ///< when its request was complete
    time_point deadline = no_deadline;    ///< absolute: the call comes back by then, and no run starts after it

    /// The answer: tensors in the order of `outputs`, or why there is none.
    result<std::vector<tensor>> outcome = std::vector<tensor>{};

    /// When it entered the queue, when its run started and ended: for the statistics.
    time_point queued{};
    time_point run_started{};
    time_point run_ended{};
};

/// Where the call's output i (of call.outputs) goes, if that is shared memory.
inline const shared_memory_ref* shared_output(const infer_call& call, std::size_t i) noexcept {
    if (i >= call.request.outputs.size() || !call.request.outputs[i].shared) return nullptr;
    return &*call.request.outputs[i].shared;
}

}  // namespace asio_infer
