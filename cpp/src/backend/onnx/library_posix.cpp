#if !defined(_WIN32)

#include <dlfcn.h>
#include <unistd.h>

#include <asio_infer/runtime_error.hpp>
#include <cstdlib>

#include "backend/onnx/library.hpp"

namespace asio_infer::ort {
namespace {

[[noreturn]] void throw_last_error(const std::filesystem::path& library) {
    const char* const reason = dlerror();
    throw runtime_unavailable("cannot load ONNX Runtime from '" + to_utf8(library) +
                              "': " + (reason != nullptr ? reason : "unknown reason"));
}

}  // namespace

const OrtApiBase& open_library(const std::filesystem::path& library) {
    void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) throw_last_error(library);
    using entry_point = const OrtApiBase* (*)();
    const auto entry = reinterpret_cast<entry_point>(dlsym(opened, "OrtGetApiBase"));
    if (entry == nullptr) throw_last_error(library);
    return *entry();
}

void set_environment(const char* name, const char* value) noexcept { setenv(name, value, 1); }

long process_id() noexcept { return static_cast<long>(getpid()); }

}  // namespace asio_infer::ort

#endif
