#pragma once

#include <asio_infer/error.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backend/onnx/ort_slots.hpp"
#include "backend/onnx/ort_types.hpp"

namespace asio_infer::ort {

/// ONNX Runtime 1.19 is the first whose wheels carry the library.
inline constexpr unsigned oldest_minor = 19;
/// The newest API version that the slots were checked against; a newer library is asked for this one.
inline constexpr unsigned known_api_version = 28;

struct ort_version {
    unsigned major = 0;
    unsigned minor = 0;
    auto operator<=>(const ort_version&) const = default;
};

/// "1.22.0" or "1.23.0-dev+..." as numbers.
std::optional<ort_version> parse_version(std::string_view text) noexcept;

/// The functions of one loaded library. A function that is newer than the library is null: those with a first
/// version above `oldest_minor` in ort_slots.hpp. Immutable, so usable from any thread.
struct ort_api {
    using size_t = std::size_t;
    using int64_t = std::int64_t;

// NOLINTNEXTLINE(bugprone-macro-parentheses): the arguments are parts of a declaration
#define ASIO_INFER_ORT_MEMBER(slot, since, returns, name, parameters) returns(*name) parameters = nullptr;
    ASIO_INFER_ORT_SLOTS(ASIO_INFER_ORT_MEMBER)
#undef ASIO_INFER_ORT_MEMBER

    std::string version;       ///< of the library, as it says itself
    unsigned api_version = 0;  ///< what was asked of it
};

/// Reads the function table of a library. Throws runtime_version_error, which names the library's version and the
/// oldest that works, unless that is 1.19 or later. `library` is for messages.
ort_api bind_api(const OrtApiBase& base, std::string_view library);

/// Takes the status apart and frees it: the code, or ORT_OK for null, and the runtime's text.
struct status_text {
    OrtErrorCode code = ORT_OK;
    std::string message;
};
status_text take_status(const ort_api& api, OrtStatus* status);

/// Throws the runtime's text as model_error unless the call succeeded. Frees the status.
void check(const ort_api& api, OrtStatus* status);

/// How each kind of object is freed.
template <class T>
inline constexpr void (*ort_api::*release_of)(T*) = nullptr;
template <>
inline constexpr auto release_of<OrtEnv> = &ort_api::ReleaseEnv;
template <>
inline constexpr auto release_of<OrtThreadingOptions> = &ort_api::ReleaseThreadingOptions;
template <>
inline constexpr auto release_of<OrtSession> = &ort_api::ReleaseSession;
template <>
inline constexpr auto release_of<OrtSessionOptions> = &ort_api::ReleaseSessionOptions;
template <>
inline constexpr auto release_of<OrtRunOptions> = &ort_api::ReleaseRunOptions;
template <>
inline constexpr auto release_of<OrtValue> = &ort_api::ReleaseValue;
template <>
inline constexpr auto release_of<OrtMemoryInfo> = &ort_api::ReleaseMemoryInfo;
template <>
inline constexpr auto release_of<OrtTypeInfo> = &ort_api::ReleaseTypeInfo;
template <>
inline constexpr auto release_of<OrtTensorTypeAndShapeInfo> = &ort_api::ReleaseTensorTypeAndShapeInfo;
template <>
inline constexpr auto release_of<OrtCUDAProviderOptionsV2> = &ort_api::ReleaseCUDAProviderOptions;
template <>
inline constexpr auto release_of<OrtTensorRTProviderOptionsV2> = &ort_api::ReleaseTensorRTProviderOptions;

template <class T>
struct releaser {
    const ort_api* api = nullptr;
    void operator()(T* object) const noexcept { (api->*release_of<T>)(object); }
};

/// An object of the runtime and the library that frees it.
template <class T>
using handle = std::unique_ptr<T, releaser<T>>;

/// Calls `function(arguments..., &object)` and owns the object. Throws as check() does.
template <class T, class Function, class... Arguments>
handle<T> create(const ort_api& api, Function ort_api::* function, Arguments... arguments) {
    T* object = nullptr;
    check(api, (api.*function)(arguments..., &object));
    return handle<T>(object, releaser<T>{&api});
}

/// Calls `function(arguments..., &value)` and returns the value. Throws as check() does.
template <class T, class Function, class... Arguments>
T get(const ort_api& api, Function ort_api::* function, Arguments... arguments) {
    T value{};
    check(api, (api.*function)(arguments..., &value));
    return value;
}

}  // namespace asio_infer::ort
