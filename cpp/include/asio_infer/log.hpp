#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>

namespace asio_infer {

/// Severity, with the numbers of Python's logging.
enum class log_level : std::uint8_t { debug = 10, info = 20, warning = 30, error = 40, off = 100 };

using log_value = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;
/// Structured detail of a record. The texts need to live only for the call.
using log_field = std::pair<std::string_view, log_value>;

/// Where log records go. Implementations copy the record and return at once: they neither block nor take the GIL,
/// for network threads call them. Thread-safe.
class log_sink {
public:
    virtual ~log_sink() = default;
    virtual bool enabled(log_level level) const noexcept = 0;
    /// `message` is a fixed sentence; what varies goes into `fields`. Text from the network may be passed as it is:
    /// the sink escapes control characters.
    virtual void write(log_level level, std::string_view message,
                       std::initializer_list<log_field> fields = {}) noexcept = 0;
    /// Records that were lost because they came faster than they could be passed on.
    virtual std::uint64_t dropped() const noexcept { return 0; }
};

/// Lines on stderr, as text or as JSON objects, written by a thread of their own.
std::shared_ptr<log_sink> make_stderr_log(log_level lowest, bool json);

}  // namespace asio_infer
