#pragma once

// The functions of ONNX Runtime's C API that this program calls: SLOT(number in the OrtApi table, first ONNX Runtime
// 1.x that has it or 19 if all supported ones do, returned type, name, parameters). The table is append-only, so a
// number never changes. To use another function: add its row here and its copy in the test of this file.
// clang-format off
#define ASIO_INFER_ORT_SLOTS(SLOT) \
    SLOT(1, 19, OrtErrorCode, GetErrorCode, (const OrtStatus* status)) \
    SLOT(2, 19, const char*, GetErrorMessage, (const OrtStatus* status)) \
    SLOT(6, 19, OrtStatus*, DisableTelemetryEvents, (const OrtEnv* env)) \
    SLOT(7, 19, OrtStatus*, CreateSession, \
         (const OrtEnv* env, const ORTCHAR_T* model_path, const OrtSessionOptions* options, OrtSession** out)) \
    SLOT(8, 19, OrtStatus*, CreateSessionFromArray, \
         (const OrtEnv* env, const void* model_data, size_t model_data_length, const OrtSessionOptions* options, \
          OrtSession** out)) \
    SLOT(9, 19, OrtStatus*, Run, \
         (OrtSession* session, const OrtRunOptions* run_options, const char* const* input_names, \
          const OrtValue* const* inputs, size_t input_len, const char* const* output_names, size_t output_names_len, \
          OrtValue** outputs)) \
    SLOT(10, 19, OrtStatus*, CreateSessionOptions, (OrtSessionOptions** options)) \
    SLOT(11, 19, OrtStatus*, SetOptimizedModelFilePath, \
         (OrtSessionOptions* options, const ORTCHAR_T* optimized_model_filepath)) \
    SLOT(13, 19, OrtStatus*, SetSessionExecutionMode, (OrtSessionOptions* options, ExecutionMode execution_mode)) \
    SLOT(14, 19, OrtStatus*, EnableProfiling, (OrtSessionOptions* options, const ORTCHAR_T* profile_file_prefix)) \
    SLOT(16, 19, OrtStatus*, EnableMemPattern, (OrtSessionOptions* options)) \
    SLOT(17, 19, OrtStatus*, DisableMemPattern, (OrtSessionOptions* options)) \
    SLOT(18, 19, OrtStatus*, EnableCpuMemArena, (OrtSessionOptions* options)) \
    SLOT(19, 19, OrtStatus*, DisableCpuMemArena, (OrtSessionOptions* options)) \
    SLOT(20, 19, OrtStatus*, SetSessionLogId, (OrtSessionOptions* options, const char* logid)) \
    SLOT(21, 19, OrtStatus*, SetSessionLogVerbosityLevel, \
         (OrtSessionOptions* options, int session_log_verbosity_level)) \
    SLOT(22, 19, OrtStatus*, SetSessionLogSeverityLevel, (OrtSessionOptions* options, int session_log_severity_level)) \
    SLOT(23, 19, OrtStatus*, SetSessionGraphOptimizationLevel, \
         (OrtSessionOptions* options, GraphOptimizationLevel graph_optimization_level)) \
    SLOT(24, 19, OrtStatus*, SetIntraOpNumThreads, (OrtSessionOptions* options, int intra_op_num_threads)) \
    SLOT(25, 19, OrtStatus*, SetInterOpNumThreads, (OrtSessionOptions* options, int inter_op_num_threads)) \
    SLOT(30, 19, OrtStatus*, SessionGetInputCount, (const OrtSession* session, size_t* out)) \
    SLOT(31, 19, OrtStatus*, SessionGetOutputCount, (const OrtSession* session, size_t* out)) \
    SLOT(32, 19, OrtStatus*, SessionGetOverridableInitializerCount, (const OrtSession* session, size_t* out)) \
    SLOT(33, 19, OrtStatus*, SessionGetInputTypeInfo, \
         (const OrtSession* session, size_t index, OrtTypeInfo** type_info)) \
    SLOT(34, 19, OrtStatus*, SessionGetOutputTypeInfo, \
         (const OrtSession* session, size_t index, OrtTypeInfo** type_info)) \
    SLOT(35, 19, OrtStatus*, SessionGetOverridableInitializerTypeInfo, \
         (const OrtSession* session, size_t index, OrtTypeInfo** type_info)) \
    SLOT(36, 19, OrtStatus*, SessionGetInputName, \
         (const OrtSession* session, size_t index, OrtAllocator* allocator, char** value)) \
    SLOT(37, 19, OrtStatus*, SessionGetOutputName, \
         (const OrtSession* session, size_t index, OrtAllocator* allocator, char** value)) \
    SLOT(38, 19, OrtStatus*, SessionGetOverridableInitializerName, \
         (const OrtSession* session, size_t index, OrtAllocator* allocator, char** value)) \
    SLOT(39, 19, OrtStatus*, CreateRunOptions, (OrtRunOptions** out)) \
    SLOT(41, 19, OrtStatus*, RunOptionsSetRunLogSeverityLevel, (OrtRunOptions* options, int log_severity_level)) \
    SLOT(46, 19, OrtStatus*, RunOptionsSetTerminate, (OrtRunOptions* options)) \
    SLOT(47, 19, OrtStatus*, RunOptionsUnsetTerminate, (OrtRunOptions* options)) \
    SLOT(48, 19, OrtStatus*, CreateTensorAsOrtValue, \
         (OrtAllocator* allocator, const int64_t* shape, size_t shape_len, ONNXTensorElementDataType type, \
          OrtValue** out)) \
    SLOT(49, 19, OrtStatus*, CreateTensorWithDataAsOrtValue, \
         (const OrtMemoryInfo* info, void* p_data, size_t p_data_len, const int64_t* shape, size_t shape_len, \
          ONNXTensorElementDataType type, OrtValue** out)) \
    SLOT(51, 19, OrtStatus*, GetTensorMutableData, (OrtValue* value, void** out)) \
    SLOT(53, 19, OrtStatus*, GetStringTensorDataLength, (const OrtValue* value, size_t* len)) \
    SLOT(54, 19, OrtStatus*, GetStringTensorContent, \
         (const OrtValue* value, void* s, size_t s_len, size_t* offsets, size_t offsets_len)) \
    SLOT(55, 19, OrtStatus*, CastTypeInfoToTensorInfo, \
         (const OrtTypeInfo* type_info, const OrtTensorTypeAndShapeInfo** out)) \
    SLOT(56, 19, OrtStatus*, GetOnnxTypeFromTypeInfo, (const OrtTypeInfo* type_info, ONNXType* out)) \
    SLOT(60, 19, OrtStatus*, GetTensorElementType, \
         (const OrtTensorTypeAndShapeInfo* info, ONNXTensorElementDataType* out)) \
    SLOT(61, 19, OrtStatus*, GetDimensionsCount, (const OrtTensorTypeAndShapeInfo* info, size_t* out)) \
    SLOT(62, 19, OrtStatus*, GetDimensions, \
         (const OrtTensorTypeAndShapeInfo* info, int64_t* dim_values, size_t dim_values_length)) \
    SLOT(63, 19, OrtStatus*, GetSymbolicDimensions, \
         (const OrtTensorTypeAndShapeInfo* info, const char** dim_params, size_t dim_params_length)) \
    SLOT(65, 19, OrtStatus*, GetTensorTypeAndShape, (const OrtValue* value, OrtTensorTypeAndShapeInfo** out)) \
    SLOT(69, 19, OrtStatus*, CreateCpuMemoryInfo, (OrtAllocatorType type, OrtMemType mem_type, OrtMemoryInfo** out)) \
    SLOT(76, 19, OrtStatus*, AllocatorFree, (OrtAllocator* ort_allocator, void* p)) \
    SLOT(78, 19, OrtStatus*, GetAllocatorWithDefaultOptions, (OrtAllocator** out)) \
    SLOT(79, 19, OrtStatus*, AddFreeDimensionOverride, \
         (OrtSessionOptions* options, const char* dim_denotation, int64_t dim_value)) \
    SLOT(92, 19, void, ReleaseEnv, (OrtEnv* input)) \
    SLOT(93, 19, void, ReleaseStatus, (OrtStatus* input)) \
    SLOT(94, 19, void, ReleaseMemoryInfo, (OrtMemoryInfo* input)) \
    SLOT(95, 19, void, ReleaseSession, (OrtSession* input)) \
    SLOT(96, 19, void, ReleaseValue, (OrtValue* input)) \
    SLOT(97, 19, void, ReleaseRunOptions, (OrtRunOptions* input)) \
    SLOT(98, 19, void, ReleaseTypeInfo, (OrtTypeInfo* input)) \
    SLOT(99, 19, void, ReleaseTensorTypeAndShapeInfo, (OrtTensorTypeAndShapeInfo* input)) \
    SLOT(100, 19, void, ReleaseSessionOptions, (OrtSessionOptions* input)) \
    SLOT(103, 19, OrtStatus*, CastTypeInfoToMapTypeInfo, (const OrtTypeInfo* type_info, const OrtMapTypeInfo** out)) \
    SLOT(104, 19, OrtStatus*, CastTypeInfoToSequenceTypeInfo, \
         (const OrtTypeInfo* type_info, const OrtSequenceTypeInfo** out)) \
    SLOT(105, 19, OrtStatus*, GetMapKeyType, (const OrtMapTypeInfo* map_type_info, ONNXTensorElementDataType* out)) \
    SLOT(106, 19, OrtStatus*, GetMapValueType, (const OrtMapTypeInfo* map_type_info, OrtTypeInfo** type_info)) \
    SLOT(107, 19, OrtStatus*, GetSequenceElementType, \
         (const OrtSequenceTypeInfo* sequence_type_info, OrtTypeInfo** type_info)) \
    SLOT(120, 19, OrtStatus*, DisablePerSessionThreads, (OrtSessionOptions* options)) \
    SLOT(121, 19, OrtStatus*, CreateThreadingOptions, (OrtThreadingOptions** out)) \
    SLOT(122, 19, void, ReleaseThreadingOptions, (OrtThreadingOptions* input)) \
    SLOT(124, 19, OrtStatus*, AddFreeDimensionOverrideByName, \
         (OrtSessionOptions* options, const char* dim_name, int64_t dim_value)) \
    SLOT(125, 19, OrtStatus*, GetAvailableProviders, (char*** out_ptr, int* provider_length)) \
    SLOT(126, 19, OrtStatus*, ReleaseAvailableProviders, (char** ptr, int providers_length)) \
    SLOT(130, 19, OrtStatus*, AddSessionConfigEntry, \
         (OrtSessionOptions* options, const char* config_key, const char* config_value)) \
    SLOT(147, 19, OrtStatus*, SetGlobalIntraOpNumThreads, (OrtThreadingOptions* tp_options, int intra_op_num_threads)) \
    SLOT(148, 19, OrtStatus*, SetGlobalInterOpNumThreads, (OrtThreadingOptions* tp_options, int inter_op_num_threads)) \
    SLOT(149, 19, OrtStatus*, SetGlobalSpinControl, (OrtThreadingOptions* tp_options, int allow_spinning)) \
    SLOT(151, 19, OrtStatus*, CreateEnvWithCustomLoggerAndGlobalThreadPools, \
         (OrtLoggingFunction logging_function, void* logger_param, OrtLoggingLevel log_severity_level, \
          const char* logid, const OrtThreadingOptions* tp_options, OrtEnv** out)) \
    SLOT(170, 19, OrtStatus*, SessionOptionsAppendExecutionProvider_TensorRT_V2, \
         (OrtSessionOptions* options, const OrtTensorRTProviderOptionsV2* tensorrt_options)) \
    SLOT(171, 19, OrtStatus*, CreateTensorRTProviderOptions, (OrtTensorRTProviderOptionsV2** out)) \
    SLOT(172, 19, OrtStatus*, UpdateTensorRTProviderOptions, \
         (OrtTensorRTProviderOptionsV2* tensorrt_options, const char* const* provider_options_keys, \
          const char* const* provider_options_values, size_t num_keys)) \
    SLOT(174, 19, void, ReleaseTensorRTProviderOptions, (OrtTensorRTProviderOptionsV2* input)) \
    SLOT(192, 19, OrtStatus*, HasValue, (const OrtValue* value, int* out)) \
    SLOT(204, 19, OrtStatus*, SessionOptionsAppendExecutionProvider_CUDA_V2, \
         (OrtSessionOptions* options, const OrtCUDAProviderOptionsV2* cuda_options)) \
    SLOT(205, 19, OrtStatus*, CreateCUDAProviderOptions, (OrtCUDAProviderOptionsV2** out)) \
    SLOT(206, 19, OrtStatus*, UpdateCUDAProviderOptions, \
         (OrtCUDAProviderOptionsV2* cuda_options, const char* const* provider_options_keys, \
          const char* const* provider_options_values, size_t num_keys)) \
    SLOT(208, 19, void, ReleaseCUDAProviderOptions, (OrtCUDAProviderOptionsV2* input)) \
    SLOT(216, 19, OrtStatus*, SessionOptionsAppendExecutionProvider, \
         (OrtSessionOptions* options, const char* provider_name, const char* const* provider_options_keys, \
          const char* const* provider_options_values, size_t num_keys)) \
    SLOT(250, 19, OrtStatus*, CastTypeInfoToOptionalTypeInfo, \
         (const OrtTypeInfo* type_info, const OrtOptionalTypeInfo** out)) \
    SLOT(251, 19, OrtStatus*, GetOptionalContainedTypeInfo, \
         (const OrtOptionalTypeInfo* optional_type_info, OrtTypeInfo** out)) \
    SLOT(252, 19, OrtStatus*, GetResizedStringTensorElementBuffer, \
         (OrtValue* value, size_t index, size_t length_in_bytes, char** buffer)) \
    SLOT(273, 19, OrtStatus*, SetDeterministicCompute, (OrtSessionOptions* options, bool value)) \
    SLOT(390, 24, bool, TensorTypeAndShape_HasShape, (const OrtTensorTypeAndShapeInfo* info)) \
    SLOT(414, 24, OrtStatus*, GetTensorElementTypeAndShapeDataReference, \
         (const OrtValue* value, ONNXTensorElementDataType* elem_type, const int64_t** shape_data, \
          size_t* shape_data_count))
// clang-format on
