#pragma once

#include <string_view>

namespace asio_infer {

/// Now, as RFC 9110 5.6.7 has it ("Sun, 06 Nov 1994 08:49:37 GMT"). Printed once a second for each thread; valid until
/// the thread's next call.
std::string_view http_date() noexcept;

}  // namespace asio_infer
