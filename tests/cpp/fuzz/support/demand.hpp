#pragma once

#include <string>

namespace asio_infer::fuzz {

/// Says what was broken and ends the process, which a fuzzer takes for a crash: the input that did it is kept.
[[noreturn]] void broken(const std::string& rule) noexcept;

/// A rule that holds for every input.
inline void demand(bool holds, const char* rule) noexcept {
    if (!holds) broken(rule);
}

}  // namespace asio_infer::fuzz
