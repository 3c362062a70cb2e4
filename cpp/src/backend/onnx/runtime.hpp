#pragma once

#include <asio_infer/log.hpp>
#include <asio_infer/options.hpp>
#include <string>

#include "backend/onnx/log_router.hpp"
#include "backend/onnx/ort_api.hpp"

namespace asio_infer::ort {

/// The process's ONNX Runtime: its functions, its environment and the thread pool that models share. Made when the
/// first ONNX model is loaded and never destroyed: sessions, results and the runtime's own threads may use it until
/// the process ends, in any order. Thread-safe.
class runtime {
public:
    /// The runtime of this library. The thread count of the first call for it stands. Throws runtime_unavailable and
    /// runtime_version_error; a later call tries again.
    static runtime& get(const runtime_options& options, log_sink& log);

    /// Version of the library that this process has loaded; "" while there is none.
    static std::string loaded_version();

    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;

    const ort_api& api() const noexcept { return api_; }
    const OrtEnv* env() const noexcept { return env_.get(); }
    /// The runtime's allocator for CPU memory; not to be freed.
    OrtAllocator* allocator() const noexcept { return allocator_; }
    /// Describes memory of ours.
    const OrtMemoryInfo* cpu_memory() const noexcept { return cpu_memory_.get(); }
    log_router& logs() noexcept { return logs_; }

    /// Threads that compute one model's run, the calling one included.
    unsigned threads() const noexcept { return threads_; }
    /// Whether models can share the pool: not in a forked child, where its threads do not exist.
    bool has_shared_threads() const noexcept;

private:
    runtime(const std::string& library, unsigned threads, log_sink& log);
    handle<OrtEnv> make_env();

    const unsigned threads_;
    const long process_;
    log_router logs_;
    ort_api api_;
    handle<OrtEnv> env_;
    handle<OrtMemoryInfo> cpu_memory_;
    OrtAllocator* allocator_ = nullptr;
};

}  // namespace asio_infer::ort
