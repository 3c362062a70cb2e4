#include "backend/onnx/values.hpp"

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "backend/onnx/element_types.hpp"
#include "core/bytes_elements.hpp"
#include "core/gather.hpp"

namespace asio_infer::ort {
namespace {

constexpr std::size_t length_size = sizeof(std::uint32_t);

/// Stands in for the memory of tensors without elements: the runtime takes no null pointer.
alignas(tensor_alignment) std::byte no_elements[tensor_alignment];

[[noreturn]] void refuse_size(const tensor& source) {
    throw exception(errc::invalid_request, std::to_string(source.data.size()) + " bytes are not a tensor of type " +
                                               std::string(name(source.type)) + " and shape " +
                                               to_string(source.shape));
}

std::size_t checked_count(const tensor& source) {
    const auto count = element_count(source.shape);
    if (!count) refuse_size(source);
    return *count;
}

handle<OrtValue> make_string_value(const runtime& rt, const tensor& source) {
    const ort_api& api = rt.api();
    const std::size_t count = checked_count(source);
    // Before the runtime allocates anything for them: each element takes at least its length's bytes.
    if (count > source.data.size() / length_size) refuse_size(source);
    auto value = create<OrtValue>(api, &ort_api::CreateTensorAsOrtValue, rt.allocator(), source.shape.data(),
                                  source.shape.size(), ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
    bytes_elements elements(source.data.bytes());
    for (std::size_t i = 0; i < count; ++i) {
        const auto text = elements.next();
        if (!text) refuse_size(source);
        char* const memory =
            get<char*>(api, &ort_api::GetResizedStringTensorElementBuffer, value.get(), i, text->size());
        if (!text->empty()) std::memcpy(memory, text->data(), text->size());
    }
    if (!elements.rest().empty()) refuse_size(source);
    return value;
}

handle<OrtValue> make_number_value(const runtime& rt, const tensor& source) {
    const std::size_t size = element_size(source.type);
    const std::size_t count = checked_count(source);
    if (source.data.size() % size != 0 || source.data.size() / size != count) refuse_size(source);
    // The runtime does not write to a run's inputs.
    void* const memory = count == 0 ? no_elements : const_cast<std::byte*>(source.data.data());
    return create<OrtValue>(rt.api(), &ort_api::CreateTensorWithDataAsOrtValue, rt.cpu_memory(), memory,
                            source.data.size(), source.shape.data(), source.shape.size(), code_of(source.type));
}

/// Element type and dims of a value that is a tensor.
struct tensor_info {
    ONNXTensorElementDataType code{};
    asio_infer::shape shape;
};

tensor_info read_info_by_copy(const ort_api& api, const OrtValue* value) {
    const auto info = create<OrtTensorTypeAndShapeInfo>(api, &ort_api::GetTensorTypeAndShape, value);
    tensor_info result;
    result.code = get<ONNXTensorElementDataType>(api, &ort_api::GetTensorElementType,
                                                 static_cast<const OrtTensorTypeAndShapeInfo*>(info.get()));
    result.shape.resize(
        get<std::size_t>(api, &ort_api::GetDimensionsCount, static_cast<const OrtTensorTypeAndShapeInfo*>(info.get())));
    check(api, api.GetDimensions(info.get(), result.shape.data(), result.shape.size()));
    return result;
}

tensor_info read_info(const ort_api& api, const OrtValue* value) {
    if (api.GetTensorElementTypeAndShapeDataReference == nullptr) return read_info_by_copy(api, value);
    tensor_info result;
    const std::int64_t* dims = nullptr;
    std::size_t rank = 0;
    check(api, api.GetTensorElementTypeAndShapeDataReference(value, &result.code, &dims, &rank));
    if (rank > 0) result.shape.assign(dims, dims + rank);
    return result;
}

/// Packs strings as the protocol has them. The runtime writes the texts one after another behind the room for their
/// lengths; then each moves forward to its place, which never reaches a text that has not moved yet.
buffer pack_strings(const ort_api& api, const OrtValue* value, std::size_t count) {
    if (count == 0) return {};
    const auto total = get<std::size_t>(api, &ort_api::GetStringTensorDataLength, value);
    unique_buffer packed(total + count * length_size);
    std::vector<std::size_t> offsets(count);
    std::byte* const texts = packed.data() + count * length_size;
    check(api, api.GetStringTensorContent(value, texts, total, offsets.data(), count));
    std::byte* to = packed.data();
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t length = (i + 1 < count ? offsets[i + 1] : total) - offsets[i];
        if (length > std::numeric_limits<std::uint32_t>::max())
            throw exception(errc::model_error, "a string is longer than 4 GiB");
        const auto prefix = static_cast<std::uint32_t>(length);
        std::memcpy(to, &prefix, length_size);
        std::memmove(to + length_size, texts + offsets[i], length);
        to += length_size + length;
    }
    return std::move(packed).share();
}

bool overlaps(std::span<const std::byte> bytes, const std::vector<std::span<const std::byte>>& inputs) noexcept {
    const auto address = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p); };
    for (const auto& input : inputs)
        if (address(bytes.data()) < address(input.data()) + input.size() &&
            address(input.data()) < address(bytes.data()) + bytes.size())
            return true;
    return false;
}

buffer take_numbers(const ort_api& api, handle<OrtValue> value, std::size_t size,
                    const std::vector<std::span<const std::byte>>& inputs) {
    if (size == 0) return {};
    void* const memory = get<void*>(api, &ort_api::GetTensorMutableData, value.get());
    const std::span<const std::byte> bytes{static_cast<const std::byte*>(memory), size};
    if (overlaps(bytes, inputs)) return aligned_copy(buffer(nullptr, bytes));
    return {std::make_shared<handle<OrtValue>>(std::move(value)), bytes};
}

}  // namespace

handle<OrtValue> make_value(const runtime& rt, const tensor& source) {
    return source.type == dtype::bytes ? make_string_value(rt, source) : make_number_value(rt, source);
}

tensor take_tensor(const runtime& rt, handle<OrtValue> value, const tensor_spec& spec,
                   const std::vector<std::span<const std::byte>>& inputs) {
    if (!value) throw exception(errc::model_error, "output '" + spec.name + "' has no value");
    tensor_info info = read_info(rt.api(), value.get());
    const auto type = dtype_of(info.code);
    const auto count = element_count(info.shape);
    if (!type || !count)
        throw exception(errc::model_error, "output '" + spec.name + "' is a tensor of " + element_name(info.code) +
                                               " and shape " + to_string(info.shape) +
                                               ", which the protocol cannot carry");
    tensor result{*type, std::move(info.shape), {}};
    result.data = *type == dtype::bytes
                      ? pack_strings(rt.api(), value.get(), *count)
                      : take_numbers(rt.api(), std::move(value), *count * element_size(*type), inputs);
    return result;
}

}  // namespace asio_infer::ort
