#pragma once

#include <cstdint>
#include <string>

#include "runtime/log_record.hpp"

namespace asio_infer {

enum class log_format : std::uint8_t {
    text,  ///< 2026-11-30T22:15:01.123Z INFO  message key=value ...
    json,  ///< {"time":"...","level":"info","message":"...","key":value,...}
};

/// Appends the record as one line with its end. Whatever the texts contain, the line stays one line and its fields
/// stay apart, so text from the network cannot forge a record. `colours`: ANSI codes around the level (text only).
/// Throws std::bad_alloc.
void append_log_line(std::string& out, const log_record& record, log_format format, bool colours);

/// "2026-11-30T22:15:01.123Z".
void append_time(std::string& out, wall_time when);

}  // namespace asio_infer
