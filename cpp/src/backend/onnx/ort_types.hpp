#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

/// ONNX Runtime's C types under their own names, for what this program uses of them. In a namespace, so that they
/// meet no other copy of the runtime's header.
namespace asio_infer::ort {

// The runtime uses stdcall on 32-bit Windows only, which is not supported.
static_assert(sizeof(void*) == 8);

struct OrtStatus;
struct OrtEnv;
struct OrtThreadingOptions;
struct OrtSession;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtValue;
struct OrtMemoryInfo;
struct OrtAllocator;
struct OrtTypeInfo;
struct OrtTensorTypeAndShapeInfo;
struct OrtMapTypeInfo;
struct OrtSequenceTypeInfo;
struct OrtOptionalTypeInfo;
struct OrtCUDAProviderOptionsV2;
struct OrtTensorRTProviderOptionsV2;

/// char, or wchar_t on Windows: as in std::filesystem::path.
using ORTCHAR_T = std::filesystem::path::value_type;

// Newer libraries may return values that are not named here: the underlying type is fixed, so they are representable.
enum OrtErrorCode : int { ORT_OK = 0, ORT_INVALID_ARGUMENT = 2, ORT_NO_SUCHFILE = 3 };

enum OrtLoggingLevel : int {
    ORT_LOGGING_LEVEL_VERBOSE = 0,
    ORT_LOGGING_LEVEL_INFO = 1,
    ORT_LOGGING_LEVEL_WARNING = 2,
    ORT_LOGGING_LEVEL_ERROR = 3,
    ORT_LOGGING_LEVEL_FATAL = 4,
};

enum ONNXType : int {
    ONNX_TYPE_UNKNOWN = 0,
    ONNX_TYPE_TENSOR = 1,
    ONNX_TYPE_SEQUENCE = 2,
    ONNX_TYPE_MAP = 3,
    ONNX_TYPE_OPAQUE = 4,
    ONNX_TYPE_SPARSETENSOR = 5,
    ONNX_TYPE_OPTIONAL = 6,
};

/// The codes are listed with their names in element_types.hpp.
enum ONNXTensorElementDataType : int {
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING = 8,
};

enum GraphOptimizationLevel : int {};
enum ExecutionMode : int { ORT_SEQUENTIAL = 0, ORT_PARALLEL = 1 };
enum OrtAllocatorType : int { OrtArenaAllocator = 1 };
enum OrtMemType : int { OrtMemTypeDefault = 0 };

/// Called by the runtime on any of its threads; must not throw.
using OrtLoggingFunction = void (*)(void* param, OrtLoggingLevel severity, const char* category, const char* logid,
                                    const char* code_location, const char* message);

struct OrtApi;
struct OrtApiBase {
    const OrtApi* (*GetApi)(std::uint32_t version);
    const char* (*GetVersionString)();
};

}  // namespace asio_infer::ort
