#if defined(_WIN32)

#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <asio_infer/runtime_error.hpp>
#include <cstdlib>
#include <system_error>

#include "backend/onnx/library.hpp"

namespace asio_infer::ort {
namespace {

[[noreturn]] void throw_last_error(const std::filesystem::path& library) {
    const std::error_code reason(static_cast<int>(GetLastError()), std::system_category());
    throw runtime_unavailable("cannot load ONNX Runtime from '" + to_utf8(library) + "': " + reason.message());
}

}  // namespace

const OrtApiBase& open_library(const std::filesystem::path& library) {
    // The altered search path finds the libraries beside it first, not those of the system folder, which may hold an
    // onnxruntime.dll of its own.
    const HMODULE opened = LoadLibraryExW(library.c_str(), nullptr, LOAD_WITH_ALTERED_SEARCH_PATH);
    if (opened == nullptr) throw_last_error(library);
    using entry_point = const OrtApiBase* (*)();
    const FARPROC symbol = GetProcAddress(opened, "OrtGetApiBase");
    if (symbol == nullptr) throw_last_error(library);
    return *reinterpret_cast<entry_point>(reinterpret_cast<void*>(symbol))();
}

void set_environment(const char* name, const char* value) noexcept {
    _putenv_s(name, value);
    SetEnvironmentVariableA(name, value);
}

long process_id() noexcept { return static_cast<long>(GetCurrentProcessId()); }

}  // namespace asio_infer::ort

#endif
