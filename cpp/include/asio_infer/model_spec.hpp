#pragma once

#include <asio_infer/dtype.hpp>
#include <asio_infer/shape.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace asio_infer {

/// One input or output of a model as its metadata shows it. The dims include the batch axis; -1 is unknown.
struct tensor_spec {
    std::string name;
    dtype type = dtype::fp32;
    asio_infer::shape shape;
    std::vector<std::string> symbols;  ///< one per dim: the name of a symbolic dim, "" for the others
    bool any_rank = false;             ///< `shape` is empty because the rank is unknown, not because it is 0
    bool optional = false;             ///< an input that may be left out (it has a default in the model)
    /// Why this tensor cannot travel by the protocol ("sequence(map(int64,float))"); empty if it can. Asking for it
    /// is `invalid_request` with this reason; the model's other tensors work.
    std::string unsupported;
};

/// What a model takes and gives: fixed once it is loaded.
struct model_spec {
    std::string name;
    std::int64_t version = 1;
    std::string platform;  ///< "onnxruntime_onnx", "identity"
    std::string backend;   ///< "onnxruntime", "identity"
    std::vector<tensor_spec> inputs;
    std::vector<tensor_spec> outputs;
    /// Most rows in one run; 0 when requests are never joined. Batched models have a leading batch axis everywhere.
    std::uint32_t max_batch_rows = 0;
    std::string batching_reason;  ///< why it is batched or not, for `inspect` and the config
    std::uint32_t instances = 1;
    double max_batch_delay_s = 0;
    std::uint32_t max_queue_size = 256;
    std::vector<std::string> providers;  ///< execution providers in use, best first

    bool batched() const noexcept { return max_batch_rows > 0; }
};

}  // namespace asio_infer
