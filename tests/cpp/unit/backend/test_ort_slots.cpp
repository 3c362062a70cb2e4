#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "backend/onnx/ort_slots.hpp"

// The rows of ONNX Runtime's OrtApi table that the binding uses, copied from its C header (from slot 285 on from a
// binding generator's table, which has lost `const`). A wrong number or parameter in ort_slots.hpp calls something
// else through a function pointer, so every row is compared.

namespace {

struct slot_row {
    unsigned slot;
    unsigned since;
    std::string name;
    std::string returns;
    std::string parameters;
};

const std::vector<slot_row> facts{
    {1, 19, "GetErrorCode", "OrtErrorCode", "const OrtStatus* status"},
    {2, 19, "GetErrorMessage", "const char*", "const OrtStatus* status"},
    {6, 19, "DisableTelemetryEvents", "OrtStatus*", "const OrtEnv* env"},
    {7, 19, "CreateSession", "OrtStatus*",
     "const OrtEnv* env, const ORTCHAR_T* model_path, const OrtSessionOptions* options, OrtSession** out"},
    {8, 19, "CreateSessionFromArray", "OrtStatus*",
     "const OrtEnv* env, const void* model_data, size_t model_data_length, const OrtSessionOptions* options, "
     "OrtSession** out"},
    {9, 19, "Run", "OrtStatus*",
     "OrtSession* session, const OrtRunOptions* run_options, const char* const* input_names, "
     "const OrtValue* const* inputs, size_t input_len, const char* const* output_names, size_t output_names_len, "
     "OrtValue** outputs"},
    {10, 19, "CreateSessionOptions", "OrtStatus*", "OrtSessionOptions** options"},
    {11, 19, "SetOptimizedModelFilePath", "OrtStatus*",
     "OrtSessionOptions* options, const ORTCHAR_T* optimized_model_filepath"},
    {13, 19, "SetSessionExecutionMode", "OrtStatus*", "OrtSessionOptions* options, ExecutionMode execution_mode"},
    {14, 19, "EnableProfiling", "OrtStatus*", "OrtSessionOptions* options, const ORTCHAR_T* profile_file_prefix"},
    {16, 19, "EnableMemPattern", "OrtStatus*", "OrtSessionOptions* options"},
    {17, 19, "DisableMemPattern", "OrtStatus*", "OrtSessionOptions* options"},
    {18, 19, "EnableCpuMemArena", "OrtStatus*", "OrtSessionOptions* options"},
    {19, 19, "DisableCpuMemArena", "OrtStatus*", "OrtSessionOptions* options"},
    {20, 19, "SetSessionLogId", "OrtStatus*", "OrtSessionOptions* options, const char* logid"},
    {21, 19, "SetSessionLogVerbosityLevel", "OrtStatus*",
     "OrtSessionOptions* options, int session_log_verbosity_level"},
    {22, 19, "SetSessionLogSeverityLevel", "OrtStatus*", "OrtSessionOptions* options, int session_log_severity_level"},
    {23, 19, "SetSessionGraphOptimizationLevel", "OrtStatus*",
     "OrtSessionOptions* options, GraphOptimizationLevel graph_optimization_level"},
    {24, 19, "SetIntraOpNumThreads", "OrtStatus*", "OrtSessionOptions* options, int intra_op_num_threads"},
    {25, 19, "SetInterOpNumThreads", "OrtStatus*", "OrtSessionOptions* options, int inter_op_num_threads"},
    {30, 19, "SessionGetInputCount", "OrtStatus*", "const OrtSession* session, size_t* out"},
    {31, 19, "SessionGetOutputCount", "OrtStatus*", "const OrtSession* session, size_t* out"},
    {32, 19, "SessionGetOverridableInitializerCount", "OrtStatus*", "const OrtSession* session, size_t* out"},
    {33, 19, "SessionGetInputTypeInfo", "OrtStatus*",
     "const OrtSession* session, size_t index, OrtTypeInfo** type_info"},
    {34, 19, "SessionGetOutputTypeInfo", "OrtStatus*",
     "const OrtSession* session, size_t index, OrtTypeInfo** type_info"},
    {35, 19, "SessionGetOverridableInitializerTypeInfo", "OrtStatus*",
     "const OrtSession* session, size_t index, OrtTypeInfo** type_info"},
    {36, 19, "SessionGetInputName", "OrtStatus*",
     "const OrtSession* session, size_t index, OrtAllocator* allocator, char** value"},
    {37, 19, "SessionGetOutputName", "OrtStatus*",
     "const OrtSession* session, size_t index, OrtAllocator* allocator, char** value"},
    {38, 19, "SessionGetOverridableInitializerName", "OrtStatus*",
     "const OrtSession* session, size_t index, OrtAllocator* allocator, char** value"},
    {39, 19, "CreateRunOptions", "OrtStatus*", "OrtRunOptions** out"},
    {41, 19, "RunOptionsSetRunLogSeverityLevel", "OrtStatus*", "OrtRunOptions* options, int log_severity_level"},
    {46, 19, "RunOptionsSetTerminate", "OrtStatus*", "OrtRunOptions* options"},
    {47, 19, "RunOptionsUnsetTerminate", "OrtStatus*", "OrtRunOptions* options"},
    {48, 19, "CreateTensorAsOrtValue", "OrtStatus*",
     "OrtAllocator* allocator, const int64_t* shape, size_t shape_len, ONNXTensorElementDataType type, "
     "OrtValue** out"},
    {49, 19, "CreateTensorWithDataAsOrtValue", "OrtStatus*",
     "const OrtMemoryInfo* info, void* p_data, size_t p_data_len, const int64_t* shape, size_t shape_len, "
     "ONNXTensorElementDataType type, OrtValue** out"},
    {51, 19, "GetTensorMutableData", "OrtStatus*", "OrtValue* value, void** out"},
    {53, 19, "GetStringTensorDataLength", "OrtStatus*", "const OrtValue* value, size_t* len"},
    {54, 19, "GetStringTensorContent", "OrtStatus*",
     "const OrtValue* value, void* s, size_t s_len, size_t* offsets, size_t offsets_len"},
    {55, 19, "CastTypeInfoToTensorInfo", "OrtStatus*",
     "const OrtTypeInfo* type_info, const OrtTensorTypeAndShapeInfo** out"},
    {56, 19, "GetOnnxTypeFromTypeInfo", "OrtStatus*", "const OrtTypeInfo* type_info, enum ONNXType* out"},
    {60, 19, "GetTensorElementType", "OrtStatus*",
     "const OrtTensorTypeAndShapeInfo* info, enum ONNXTensorElementDataType* out"},
    {61, 19, "GetDimensionsCount", "OrtStatus*", "const OrtTensorTypeAndShapeInfo* info, size_t* out"},
    {62, 19, "GetDimensions", "OrtStatus*",
     "const OrtTensorTypeAndShapeInfo* info, int64_t* dim_values, size_t dim_values_length"},
    {63, 19, "GetSymbolicDimensions", "OrtStatus*",
     "const OrtTensorTypeAndShapeInfo* info, const char* dim_params[], size_t dim_params_length"},
    {65, 19, "GetTensorTypeAndShape", "OrtStatus*", "const OrtValue* value, OrtTensorTypeAndShapeInfo** out"},
    {69, 19, "CreateCpuMemoryInfo", "OrtStatus*",
     "enum OrtAllocatorType type, enum OrtMemType mem_type, OrtMemoryInfo** out"},
    {76, 19, "AllocatorFree", "OrtStatus*", "OrtAllocator* ort_allocator, void* p"},
    {78, 19, "GetAllocatorWithDefaultOptions", "OrtStatus*", "OrtAllocator** out"},
    {79, 19, "AddFreeDimensionOverride", "OrtStatus*",
     "OrtSessionOptions* options, const char* dim_denotation, int64_t dim_value"},
    {92, 19, "ReleaseEnv", "void", "OrtEnv* input"},
    {93, 19, "ReleaseStatus", "void", "OrtStatus* input"},
    {94, 19, "ReleaseMemoryInfo", "void", "OrtMemoryInfo* input"},
    {95, 19, "ReleaseSession", "void", "OrtSession* input"},
    {96, 19, "ReleaseValue", "void", "OrtValue* input"},
    {97, 19, "ReleaseRunOptions", "void", "OrtRunOptions* input"},
    {98, 19, "ReleaseTypeInfo", "void", "OrtTypeInfo* input"},
    {99, 19, "ReleaseTensorTypeAndShapeInfo", "void", "OrtTensorTypeAndShapeInfo* input"},
    {100, 19, "ReleaseSessionOptions", "void", "OrtSessionOptions* input"},
    {103, 19, "CastTypeInfoToMapTypeInfo", "OrtStatus*", "const OrtTypeInfo* type_info, const OrtMapTypeInfo** out"},
    {104, 19, "CastTypeInfoToSequenceTypeInfo", "OrtStatus*",
     "const OrtTypeInfo* type_info, const OrtSequenceTypeInfo** out"},
    {105, 19, "GetMapKeyType", "OrtStatus*",
     "const OrtMapTypeInfo* map_type_info, enum ONNXTensorElementDataType* out"},
    {106, 19, "GetMapValueType", "OrtStatus*", "const OrtMapTypeInfo* map_type_info, OrtTypeInfo** type_info"},
    {107, 19, "GetSequenceElementType", "OrtStatus*",
     "const OrtSequenceTypeInfo* sequence_type_info, OrtTypeInfo** type_info"},
    {120, 19, "DisablePerSessionThreads", "OrtStatus*", "OrtSessionOptions* options"},
    {121, 19, "CreateThreadingOptions", "OrtStatus*", "OrtThreadingOptions** out"},
    {122, 19, "ReleaseThreadingOptions", "void", "OrtThreadingOptions* input"},
    {124, 19, "AddFreeDimensionOverrideByName", "OrtStatus*",
     "OrtSessionOptions* options, const char* dim_name, int64_t dim_value"},
    {125, 19, "GetAvailableProviders", "OrtStatus*", "char*** out_ptr, int* provider_length"},
    {126, 19, "ReleaseAvailableProviders", "OrtStatus*", "char** ptr, int providers_length"},
    {130, 19, "AddSessionConfigEntry", "OrtStatus*",
     "OrtSessionOptions* options, const char* config_key, const char* config_value"},
    {147, 19, "SetGlobalIntraOpNumThreads", "OrtStatus*", "OrtThreadingOptions* tp_options, int intra_op_num_threads"},
    {148, 19, "SetGlobalInterOpNumThreads", "OrtStatus*", "OrtThreadingOptions* tp_options, int inter_op_num_threads"},
    {149, 19, "SetGlobalSpinControl", "OrtStatus*", "OrtThreadingOptions* tp_options, int allow_spinning"},
    {151, 19, "CreateEnvWithCustomLoggerAndGlobalThreadPools", "OrtStatus*",
     "OrtLoggingFunction logging_function, void* logger_param, OrtLoggingLevel log_severity_level, "
     "const char* logid, const struct OrtThreadingOptions* tp_options, OrtEnv** out"},
    {170, 19, "SessionOptionsAppendExecutionProvider_TensorRT_V2", "OrtStatus*",
     "OrtSessionOptions* options, const OrtTensorRTProviderOptionsV2* tensorrt_options"},
    {171, 19, "CreateTensorRTProviderOptions", "OrtStatus*", "OrtTensorRTProviderOptionsV2** out"},
    {172, 19, "UpdateTensorRTProviderOptions", "OrtStatus*",
     "OrtTensorRTProviderOptionsV2* tensorrt_options, const char* const* provider_options_keys, "
     "const char* const* provider_options_values, size_t num_keys"},
    {174, 19, "ReleaseTensorRTProviderOptions", "void", "OrtTensorRTProviderOptionsV2* input"},
    {192, 19, "HasValue", "OrtStatus*", "const OrtValue* value, int* out"},
    {204, 19, "SessionOptionsAppendExecutionProvider_CUDA_V2", "OrtStatus*",
     "OrtSessionOptions* options, const OrtCUDAProviderOptionsV2* cuda_options"},
    {205, 19, "CreateCUDAProviderOptions", "OrtStatus*", "OrtCUDAProviderOptionsV2** out"},
    {206, 19, "UpdateCUDAProviderOptions", "OrtStatus*",
     "OrtCUDAProviderOptionsV2* cuda_options, const char* const* provider_options_keys, "
     "const char* const* provider_options_values, size_t num_keys"},
    {208, 19, "ReleaseCUDAProviderOptions", "void", "OrtCUDAProviderOptionsV2* input"},
    {216, 19, "SessionOptionsAppendExecutionProvider", "OrtStatus*",
     "OrtSessionOptions* options, const char* provider_name, const char* const* provider_options_keys, "
     "const char* const* provider_options_values, size_t num_keys"},
    {250, 19, "CastTypeInfoToOptionalTypeInfo", "OrtStatus*",
     "const OrtTypeInfo* type_info, const OrtOptionalTypeInfo** out"},
    {251, 19, "GetOptionalContainedTypeInfo", "OrtStatus*",
     "const OrtOptionalTypeInfo* optional_type_info, OrtTypeInfo** out"},
    {252, 19, "GetResizedStringTensorElementBuffer", "OrtStatus*",
     "OrtValue* value, size_t index, size_t length_in_bytes, char** buffer"},
    {273, 19, "SetDeterministicCompute", "OrtStatus*", "OrtSessionOptions* options, bool value"},
    {390, 24, "TensorTypeAndShape_HasShape", "bool", "OrtTensorTypeAndShapeInfo * info"},
    {414, 24, "GetTensorElementTypeAndShapeDataReference", "OrtStatus*",
     "OrtValue * value, ONNXTensorElementDataType * elem_type, int64_t ** shape_data, size_t * shape_data_count"},
};

#define SLOT_ROW(slot, since, returns, name, parameters) slot_row{slot, since, #name, #returns, #parameters},
const std::vector<slot_row> binding{ASIO_INFER_ORT_SLOTS(SLOT_ROW)};
#undef SLOT_ROW

void remove_all(std::string& text, std::string_view what) {
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what)) text.erase(at, what.size());
}

/// What the C and the C++ spelling of a parameter list have in common.
std::string normal(std::string text, bool keep_const) {
    if (const std::size_t at = text.find("dim_params[]"); at != text.npos) text.replace(at, 12, "* dim_params");
    remove_all(text, "enum ");
    remove_all(text, "struct ");
    if (!keep_const) remove_all(text, "const ");
    std::erase_if(text, [](char c) { return c == ' ' || c == '(' || c == ')'; });
    return text;
}

}  // namespace

TEST_CASE("every slot of the binding has the number, name and signature of the C header") {
    REQUIRE(binding.size() == facts.size());
    for (std::size_t i = 0; i < facts.size(); ++i) {
        CAPTURE(facts[i].name);
        const bool keep_const = facts[i].slot < 285;
        CHECK(binding[i].slot == facts[i].slot);
        CHECK(binding[i].since == facts[i].since);
        CHECK(binding[i].name == facts[i].name);
        CHECK(normal(binding[i].returns, keep_const) == normal(facts[i].returns, keep_const));
        CHECK(normal(binding[i].parameters, keep_const) == normal(facts[i].parameters, keep_const));
    }
}

TEST_CASE("slots are listed in ascending order, each once") {
    CHECK(std::is_sorted(binding.begin(), binding.end(),
                         [](const slot_row& a, const slot_row& b) { return a.slot <= b.slot; }));
}
