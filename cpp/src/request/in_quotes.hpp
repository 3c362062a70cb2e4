#pragma once

#include <string>
#include <string_view>

#include "core/escape.hpp"

namespace asio_infer {

/// A text from the client in quotes, harmless and cut where it is too long for a message.
inline std::string in_quotes(std::string_view text) { return '\'' + printable(text) + '\''; }

}  // namespace asio_infer
