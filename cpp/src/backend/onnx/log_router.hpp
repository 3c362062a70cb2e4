#pragma once

#include <asio_infer/log.hpp>
#include <mutex>
#include <vector>

#include "backend/onnx/ort_types.hpp"

namespace asio_infer::ort {

/// Takes the runtime's log records to whoever listens. The runtime's environment outlives every server, so a sink
/// is attached while models use it; without one, records are dropped. Thread-safe.
class log_router {
public:
    /// Records go to the sink that was attached last. A sink that is attached several times must be detached as
    /// often, and not be written to after that.
    void attach(log_sink& sink);
    void detach(log_sink& sink) noexcept;

    /// Called by the runtime on any thread; `router` is the log_router.
    static void on_record(void* router, OrtLoggingLevel severity, const char* category, const char* logid,
                          const char* code_location, const char* message);

private:
    void write(log_level level, const char* category, const char* logid, const char* code_location,
               const char* message) noexcept;

    std::mutex mutex_;  // held while a sink writes, so that none is in use once it is detached
    std::vector<log_sink*> sinks_;
};

/// Keeps a sink attached.
class log_attachment {
public:
    log_attachment(log_router& router, log_sink& sink) : router_(router), sink_(sink) { router.attach(sink); }
    ~log_attachment() { router_.detach(sink_); }
    log_attachment(const log_attachment&) = delete;
    log_attachment& operator=(const log_attachment&) = delete;

private:
    log_router& router_;
    log_sink& sink_;
};

}  // namespace asio_infer::ort
