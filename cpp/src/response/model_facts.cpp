#include "response/model_facts.hpp"

namespace asio_infer {

shape listed_shape(const tensor_spec& spec) { return spec.any_rank ? shape{-1} : spec.shape; }

shape config_dims(const tensor_spec& spec, bool batched) {
    shape dims = listed_shape(spec);
    if (batched && !dims.empty()) dims.erase(dims.begin());
    return dims;
}

bool on_gpu(const model_spec& spec) noexcept {
    for (const std::string& provider : spec.providers)
        for (const std::string_view maker : {"CUDA", "Tensorrt", "NvTensorRTRTX", "ROCM", "MIGraphX", "Dml"})
            if (provider.starts_with(maker)) return true;
    return false;
}

std::vector<std::pair<std::string, std::string>> config_parameters(const model_spec& spec) {
    std::string providers;
    for (const std::string& provider : spec.providers) {
        if (!providers.empty()) providers += ',';
        providers += provider;
    }
    std::vector<std::pair<std::string, std::string>> parameters{{"batching", spec.batching_reason},
                                                                {"providers", std::move(providers)}};
    for (const std::vector<tensor_spec>* list : {&spec.inputs, &spec.outputs})
        for (const tensor_spec& tensor : *list)
            if (!tensor.unsupported.empty()) parameters.emplace_back("unsupported." + tensor.name, tensor.unsupported);
    return parameters;
}

}  // namespace asio_infer
