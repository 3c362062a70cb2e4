#pragma once

#include <asio_infer/infer.hpp>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/message.hpp"
#include "core/served_model.hpp"

namespace asio_infer::test {

/// A model that is only described, never run.
class described_model final : public served_model {
public:
    explicit described_model(model_spec spec) { spec_ = std::move(spec); }
    bool ready() const noexcept override { return ready_; }
    void submit(infer_call_ptr, task_executor*, bool) noexcept override {}
    void cancel(const call_receiver&) noexcept override {}
    void open() noexcept override { ready_ = true; }
    void close(const error&, bool) noexcept override { ready_ = false; }

private:
    bool ready_ = true;
};

inline buffer bytes_of(std::string_view text) {
    unique_buffer memory(text.size());
    if (!text.empty()) std::memcpy(memory.data(), text.data(), text.size());
    return std::move(memory).share();
}

template <class T>
tensor tensor_of(dtype type, shape dims, const std::vector<T>& elements) {
    const std::string_view bytes{reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
    return {type, std::move(dims), bytes_of(bytes)};
}

inline std::string packed(const std::vector<std::string>& elements) {
    std::string out;
    for (const std::string& element : elements) {
        const auto length = static_cast<std::uint32_t>(element.size());
        out.append(reinterpret_cast<const char*>(&length), sizeof length).append(element);
    }
    return out;
}
inline tensor strings_of(shape dims, const std::vector<std::string>& elements) {
    return {dtype::bytes, std::move(dims), bytes_of(packed(elements))};
}

inline tensor_spec spec_of(std::string name, dtype type, shape dims) {
    tensor_spec spec;
    spec.name = std::move(name);
    spec.type = type;
    spec.symbols.resize(dims.size());
    spec.shape = std::move(dims);
    return spec;
}

inline std::string text_of(const buffer& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// The whole body as it leaves.
inline std::string body_of(const response_message& response) {
    std::string body = response.text;
    for (const buffer& part : response.parts) body += text_of(part);
    return body;
}

}  // namespace asio_infer::test
