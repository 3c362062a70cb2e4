#include <asio_infer/tensor.hpp>
#include <cstdint>

namespace asio_infer {

unique_buffer::unique_buffer(std::size_t size, std::size_t aligned_at) : size_(size) {
    memory_ = std::make_shared_for_overwrite<std::byte[]>(size + tensor_alignment - 1);
    const auto at = reinterpret_cast<std::uintptr_t>(memory_.get()) + aligned_at;
    data_ = memory_.get() + (tensor_alignment - at % tensor_alignment) % tensor_alignment;
}

buffer unique_buffer::share() && noexcept {
    const std::span<const std::byte> bytes{data_, size_};
    return {std::move(memory_), bytes};
}

}  // namespace asio_infer
