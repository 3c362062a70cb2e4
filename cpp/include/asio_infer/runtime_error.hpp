#pragma once

#include <asio_infer/error.hpp>
#include <string>

namespace asio_infer {

/// ONNX Runtime is not installed or its library cannot be loaded. The text says what to install. Python shows it as
/// an ImportError.
class runtime_unavailable : public exception {
public:
    explicit runtime_unavailable(const std::string& message) : exception(errc::unavailable, message) {}
};

/// The installed ONNX Runtime is not of a version that works. The text names both versions.
class runtime_version_error : public runtime_unavailable {
public:
    using runtime_unavailable::runtime_unavailable;
};

}  // namespace asio_infer
