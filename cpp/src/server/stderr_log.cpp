#include <asio_infer/log.hpp>

#include "runtime/log_writer.hpp"

namespace asio_infer {

std::shared_ptr<log_sink> make_stderr_log(log_level lowest, bool json) {
    return make_log_writer(lowest, json ? log_format::json : log_format::text);
}

}  // namespace asio_infer
