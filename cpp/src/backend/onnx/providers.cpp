#include "backend/onnx/providers.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace asio_infer::ort {
namespace {

/// A provider's options as the parallel arrays that the runtime takes.
struct key_values {
    explicit key_values(const string_map& options) {
        for (const auto& [key, value] : options) {
            keys.push_back(key.c_str());
            values.push_back(value.c_str());
        }
    }
    std::vector<const char*> keys;
    std::vector<const char*> values;
};

struct provider {
    std::string_view name;
    const string_map& options;
};

/// CUDA and TensorRT have options objects of their own: made, filled, added and freed.
template <class Options, class Create, class Update, class Append>
void add_with_options_object(const ort_api& api, OrtSessionOptions* session_options, const provider& wanted,
                             Create ort_api::* make, Update ort_api::* update, Append ort_api::* append) {
    const auto options = create<Options>(api, make);
    const key_values pairs(wanted.options);
    if (!pairs.keys.empty())
        check(api, (api.*update)(options.get(), pairs.keys.data(), pairs.values.data(), pairs.keys.size()));
    check(api, (api.*append)(session_options, options.get()));
}

void add_cuda(const ort_api& api, OrtSessionOptions* session_options, const provider& wanted) {
    add_with_options_object<OrtCUDAProviderOptionsV2>(api, session_options, wanted, &ort_api::CreateCUDAProviderOptions,
                                                      &ort_api::UpdateCUDAProviderOptions,
                                                      &ort_api::SessionOptionsAppendExecutionProvider_CUDA_V2);
}

void add_tensorrt(const ort_api& api, OrtSessionOptions* session_options, const provider& wanted) {
    add_with_options_object<OrtTensorRTProviderOptionsV2>(
        api, session_options, wanted, &ort_api::CreateTensorRTProviderOptions, &ort_api::UpdateTensorRTProviderOptions,
        &ort_api::SessionOptionsAppendExecutionProvider_TensorRT_V2);
}

/// The function for all others takes its own, short names.
struct short_name_row {
    std::string_view name;
    const char* short_name;
};
constexpr std::array<short_name_row, 10> short_names{{
    {"AzureExecutionProvider", "AZURE"},
    {"CoreMLExecutionProvider", "CoreML"},
    {"DmlExecutionProvider", "DML"},
    {"JsExecutionProvider", "JS"},
    {"NvTensorRTRTXExecutionProvider", "NvTensorRtRtx"},
    {"OpenVINOExecutionProvider", "OpenVINO"},
    {"QNNExecutionProvider", "QNN"},
    {"VitisAIExecutionProvider", "VitisAI"},
    {"WebGpuExecutionProvider", "WebGPU"},
    {"XnnpackExecutionProvider", "XNNPACK"},
}};

void add_by_name(const ort_api& api, OrtSessionOptions* session_options, const provider& wanted) {
    const auto row = std::find_if(short_names.begin(), short_names.end(),
                                  [&](const short_name_row& r) { return r.name == wanted.name; });
    const std::string name = row != short_names.end() ? row->short_name : std::string(wanted.name);
    const key_values pairs(wanted.options);
    check(api, api.SessionOptionsAppendExecutionProvider(session_options, name.c_str(), pairs.keys.data(),
                                                         pairs.values.data(), pairs.keys.size()));
}

void add(const ort_api& api, OrtSessionOptions* session_options, const provider& wanted) {
    if (wanted.name == "CUDAExecutionProvider") return add_cuda(api, session_options, wanted);
    if (wanted.name == "TensorrtExecutionProvider") return add_tensorrt(api, session_options, wanted);
    add_by_name(api, session_options, wanted);
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

/// Adds one; why not, if that fails.
std::optional<std::string> try_add(const ort_api& api, OrtSessionOptions* session_options, const provider& wanted,
                                   const std::vector<std::string>& available) {
    if (!contains(available, wanted.name)) return "this ONNX Runtime (" + api.version + ") was built without it";
    try {
        add(api, session_options, wanted);
        return std::nullopt;
    } catch (const exception& failure) {
        return failure.what();
    }
}

}  // namespace

std::vector<std::string> available_providers(const ort_api& api) {
    char** names = nullptr;
    int count = 0;
    check(api, api.GetAvailableProviders(&names, &count));
    std::vector<std::string> result;
    try {
        result.assign(names, names + count);
    } catch (...) {
        check(api, api.ReleaseAvailableProviders(names, count));
        throw;
    }
    check(api, api.ReleaseAvailableProviders(names, count));
    return result;
}

std::vector<std::string> add_providers(const ort_api& api, OrtSessionOptions* session_options,
                                       const provider_list& providers, log_sink& log) {
    std::vector<std::string> used;
    const bool cpu_is_last = !providers.empty() && providers.back().first == cpu_provider;
    const std::vector<std::string> available = available_providers(api);
    for (const auto& [name, options] : providers) {
        // Whatever follows the CPU's would never get a node: the CPU's takes all.
        if (name == cpu_provider) break;
        if (contains(used, name)) continue;
        const auto failure = try_add(api, session_options, {name, options}, available);
        if (!failure) {
            used.push_back(name);
        } else if (cpu_is_last) {
            log.write(log_level::warning, "execution provider is not available and left out",
                      {{"provider", std::string_view(name)}, {"reason", std::string_view(*failure)}});
        } else {
            throw exception(errc::invalid_request, "execution provider '" + name + "' is not available: " + *failure +
                                                       ". Available: " + joined(available));
        }
    }
    used.emplace_back(cpu_provider);
    return used;
}

}  // namespace asio_infer::ort
