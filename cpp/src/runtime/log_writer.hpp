#pragma once

#include <asio_infer/log.hpp>
#include <chrono>
#include <memory>

#include "runtime/log_format.hpp"
#include "runtime/log_record.hpp"

namespace asio_infer {

struct log_writer_options {
    log_level level = log_level::info;
    log_format format = log_format::text;
    int descriptor = 2;  ///< not closed by the writer; colours if it is a terminal
    log_bounds bounds;   ///< of what waits to be written
    /// The longest that the end of the writer waits for what has not been written yet.
    std::chrono::milliseconds flush_limit{1'000};
};

/// A sink that copies records into a bounded queue, from which one thread, started by the first record, writes them
/// as lines. Records that find the queue full are dropped, counted, and reported by a later line. Thread-safe.
std::shared_ptr<log_sink> make_log_writer(const log_writer_options& options);

inline std::shared_ptr<log_sink> make_log_writer(log_level level, log_format format, int descriptor = 2) {
    log_writer_options options;
    options.level = level;
    options.format = format;
    options.descriptor = descriptor;
    return make_log_writer(options);
}

}  // namespace asio_infer
