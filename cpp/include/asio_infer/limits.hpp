#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace asio_infer {

/// Every bound of the server in one place. Sizes in bytes. Reasons:
struct limits {
    std::size_t max_body_bytes = std::size_t{64} << 20;    ///< as Triton's default; a larger tensor is one setting away
    std::size_t max_header_bytes = std::size_t{32} << 10;  ///< room for proxies' tokens, small enough per connection
    std::size_t max_json_depth = 100;                      ///< a tensor of rank 64 in its envelope fits
    std::size_t max_pipelined_requests = 64;               ///< answers that one connection may have outstanding
    std::size_t max_concurrent_streams = 100;              ///< of one HTTP/2 connection; more wait in the client
    std::size_t max_connections = 16'384;                  ///< each holds a read buffer and a coroutine while idle
    std::size_t max_parameters = 256;                      ///< names in one "parameters" object
    std::size_t max_tensors = 1'024;                       ///< inputs or requested outputs in one request
    std::size_t max_rank = 64;
    std::size_t max_shared_memory_regions = 1'024;  ///< each holds a descriptor
    /// Request and response bytes in flight over all connections; 0 takes a quarter of the memory that the process
    /// may use.
    std::size_t inflight_bytes = 0;
    std::uint32_t inline_max_us = 250;  ///< a model whose p99 run is shorter may run on a network thread
    std::size_t offload_bytes = std::size_t{64} << 10;  ///< longer JSON is parsed and printed by workers
    std::chrono::milliseconds handshake_timeout{10'000};
    std::chrono::milliseconds header_timeout{10'000};
    std::chrono::milliseconds body_progress_timeout{30'000};
    std::chrono::milliseconds idle_timeout{75'000};
    std::chrono::milliseconds write_progress_timeout{30'000};
    /// A body that comes, or an answer that is read, slower than this is given up once a progress timeout of patience
    /// is used up; 0: any progress counts. Slow mobile links have ten times as much.
    std::size_t min_bytes_per_s = 1'024;
    /// How long a connection that was refused is still read, so that the peer sees the answer and not a reset.
    std::chrono::milliseconds linger_timeout{5'000};
    std::chrono::milliseconds drain_timeout{30'000};
};

}  // namespace asio_infer
