#include "backend/onnx/signature.hpp"

#include <asio_infer/error.hpp>
#include <string>
#include <utility>

#include "backend/onnx/element_types.hpp"
#include "core/escape.hpp"

namespace asio_infer::ort {
namespace {

/// Types nest as deep as a model says; words end here.
constexpr int most_nesting = 6;

std::string type_in_words(const ort_api& api, const OrtTypeInfo* type, int depth = 0);

std::string tensor_in_words(const ort_api& api, const OrtTypeInfo* type, const char* kind) {
    const auto* info = get<const OrtTensorTypeAndShapeInfo*>(api, &ort_api::CastTypeInfoToTensorInfo, type);
    if (info == nullptr) return kind;
    const auto code = get<ONNXTensorElementDataType>(api, &ort_api::GetTensorElementType, info);
    return std::string(kind) + "(" + element_name(code) + ")";
}

std::string sequence_in_words(const ort_api& api, const OrtTypeInfo* type, int depth) {
    const auto* sequence = get<const OrtSequenceTypeInfo*>(api, &ort_api::CastTypeInfoToSequenceTypeInfo, type);
    const auto element = create<OrtTypeInfo>(api, &ort_api::GetSequenceElementType, sequence);
    return "sequence(" + type_in_words(api, element.get(), depth) + ")";
}

std::string map_in_words(const ort_api& api, const OrtTypeInfo* type, int depth) {
    const auto* map = get<const OrtMapTypeInfo*>(api, &ort_api::CastTypeInfoToMapTypeInfo, type);
    const auto key = get<ONNXTensorElementDataType>(api, &ort_api::GetMapKeyType, map);
    const auto value = create<OrtTypeInfo>(api, &ort_api::GetMapValueType, map);
    return "map(" + element_name(key) + "," + type_in_words(api, value.get(), depth) + ")";
}

handle<OrtTypeInfo> contained_type(const ort_api& api, const OrtTypeInfo* type) {
    const auto* optional = get<const OrtOptionalTypeInfo*>(api, &ort_api::CastTypeInfoToOptionalTypeInfo, type);
    return create<OrtTypeInfo>(api, &ort_api::GetOptionalContainedTypeInfo, optional);
}

std::string type_in_words(const ort_api& api, const OrtTypeInfo* type, int depth) {
    if (depth >= most_nesting) return "...";
    const auto kind = get<ONNXType>(api, &ort_api::GetOnnxTypeFromTypeInfo, type);
    switch (kind) {
        case ONNX_TYPE_TENSOR:
            return tensor_in_words(api, type, "tensor");
        case ONNX_TYPE_SPARSETENSOR:
            return tensor_in_words(api, type, "sparse_tensor");
        case ONNX_TYPE_SEQUENCE:
            return sequence_in_words(api, type, depth + 1);
        case ONNX_TYPE_MAP:
            return map_in_words(api, type, depth + 1);
        case ONNX_TYPE_OPTIONAL:
            return "optional(" + type_in_words(api, contained_type(api, type).get(), depth + 1) + ")";
        case ONNX_TYPE_OPAQUE:
            return "opaque";
        default:
            return "type " + std::to_string(static_cast<int>(kind));
    }
}

/// Older runtimes do not tell a tensor of unknown rank from a scalar, nor do they compare the rank of either with
/// what they are given.
bool is_rank_known(const ort_api& api, const OrtTensorTypeAndShapeInfo* info, std::size_t rank) {
    if (rank > 0) return true;
    return api.TensorTypeAndShape_HasShape != nullptr && api.TensorTypeAndShape_HasShape(info);
}

void read_dims(const ort_api& api, const OrtTensorTypeAndShapeInfo* info, tensor_spec& spec) {
    const auto rank = get<std::size_t>(api, &ort_api::GetDimensionsCount, info);
    spec.any_rank = !is_rank_known(api, info, rank);
    spec.shape.resize(rank);
    check(api, api.GetDimensions(info, spec.shape.data(), rank));
    std::vector<const char*> symbols(rank, nullptr);
    check(api, api.GetSymbolicDimensions(info, symbols.data(), rank));
    for (std::size_t i = 0; i < rank; ++i) {
        if (spec.shape[i] < 0) spec.shape[i] = -1;
        const bool named = spec.shape[i] < 0 && symbols[i] != nullptr && is_utf8(symbols[i]);
        spec.symbols.emplace_back(named ? symbols[i] : "");
    }
}

/// Element type and dims of a tensor; nothing but the reason if the protocol has no such type.
void read_tensor(const ort_api& api, const OrtTypeInfo* type, tensor_spec& spec) {
    const auto* info = get<const OrtTensorTypeAndShapeInfo*>(api, &ort_api::CastTypeInfoToTensorInfo, type);
    const auto code = get<ONNXTensorElementDataType>(api, &ort_api::GetTensorElementType, info);
    const auto element = dtype_of(code);
    if (element)
        spec.type = *element;
    else
        spec.unsupported = type_in_words(api, type);
    read_dims(api, info, spec);
}

/// A caller gives an optional tensor as the tensor, or leaves it out.
void read_optional_input(const ort_api& api, const OrtTypeInfo* type, tensor_spec& spec) {
    spec.optional = true;
    const auto contained = contained_type(api, type);
    if (get<ONNXType>(api, &ort_api::GetOnnxTypeFromTypeInfo, contained.get()) == ONNX_TYPE_TENSOR)
        read_tensor(api, contained.get(), spec);
    else
        spec.unsupported = type_in_words(api, type);
}

void read_type(const ort_api& api, const OrtTypeInfo* type, bool is_input, tensor_spec& spec) {
    const auto kind = get<ONNXType>(api, &ort_api::GetOnnxTypeFromTypeInfo, type);
    if (kind == ONNX_TYPE_TENSOR) return read_tensor(api, type, spec);
    if (kind == ONNX_TYPE_OPTIONAL && is_input) return read_optional_input(api, type, spec);
    spec.unsupported = type_in_words(api, type);
}

/// One of the session's three lists: its functions for the count, a name and a type.
struct value_list {
    OrtStatus* (*ort_api::*count)(const OrtSession*, std::size_t*);
    OrtStatus* (*ort_api::*name)(const OrtSession*, std::size_t, OrtAllocator*, char**);
    OrtStatus* (*ort_api::*type)(const OrtSession*, std::size_t, OrtTypeInfo**);
};
constexpr value_list inputs{&ort_api::SessionGetInputCount, &ort_api::SessionGetInputName,
                            &ort_api::SessionGetInputTypeInfo};
constexpr value_list outputs{&ort_api::SessionGetOutputCount, &ort_api::SessionGetOutputName,
                             &ort_api::SessionGetOutputTypeInfo};
constexpr value_list overridable{&ort_api::SessionGetOverridableInitializerCount,
                                 &ort_api::SessionGetOverridableInitializerName,
                                 &ort_api::SessionGetOverridableInitializerTypeInfo};

std::string read_name(const runtime& rt, const OrtSession* session, const value_list& list, std::size_t index) {
    const ort_api& api = rt.api();
    const auto free_text = [&rt](char* text) { take_status(rt.api(), rt.api().AllocatorFree(rt.allocator(), text)); };
    const std::unique_ptr<char, decltype(free_text)> text(get<char*>(api, list.name, session, index, rt.allocator()),
                                                          free_text);
    if (!is_utf8(text.get()))  // the file format does not see to it, and no protocol could carry it
        throw exception(errc::invalid_request, "the name of a tensor, '" + printable(text.get()) + "', is not UTF-8");
    return text.get();
}

std::vector<tensor_spec> read_list(const runtime& rt, const OrtSession* session, const value_list& list,
                                   bool is_input) {
    std::vector<tensor_spec> specs(get<std::size_t>(rt.api(), list.count, session));
    for (std::size_t i = 0; i < specs.size(); ++i) {
        specs[i].name = read_name(rt, session, list, i);
        const auto type = create<OrtTypeInfo>(rt.api(), list.type, session, i);
        read_type(rt.api(), type.get(), is_input, specs[i]);
    }
    return specs;
}

void refuse_unsupported_inputs(const std::vector<tensor_spec>& specs) {
    for (const tensor_spec& spec : specs)
        if (!spec.unsupported.empty() && !spec.optional)
            throw exception(errc::invalid_request,
                            "input '" + spec.name + "' is of type " + spec.unsupported + ", which cannot be served");
}

}  // namespace

signature read_signature(const runtime& rt, const OrtSession* session) {
    signature result{read_list(rt, session, inputs, true), read_list(rt, session, outputs, false)};
    for (tensor_spec& spec : read_list(rt, session, overridable, true)) {
        spec.optional = true;
        result.inputs.push_back(std::move(spec));
    }
    refuse_unsupported_inputs(result.inputs);
    return result;
}

}  // namespace asio_infer::ort
