#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "backend/onnx/ort_types.hpp"

// What differs between systems: library_posix.cpp and library_windows.cpp.

namespace asio_infer::ort {

/// Opens the library for the rest of the process's life and finds its entry point. Only this program sees its
/// symbols, so that another copy of ONNX Runtime in the process stays apart. Throws runtime_unavailable with the
/// system's reason.
const OrtApiBase& open_library(const std::filesystem::path& library);

/// Sets a variable of the process's environment. To be called before the library starts threads.
void set_environment(const char* name, const char* value) noexcept;

/// A number that a forked child does not share with its parent.
long process_id() noexcept;

/// A path from its UTF-8 form, on every system.
inline std::filesystem::path path_from_utf8(std::string_view text) {
    return std::filesystem::path(std::u8string(text.begin(), text.end()));
}

/// A path as UTF-8, for messages.
inline std::string to_utf8(const std::filesystem::path& path) {
    const std::u8string text = path.u8string();
    return std::string(text.begin(), text.end());
}

}  // namespace asio_infer::ort
