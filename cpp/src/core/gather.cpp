#include "core/gather.hpp"

#include <cstring>
#include <utility>

namespace asio_infer {
namespace {

std::byte* append(std::byte* to, const buffer& from) noexcept {
    if (from.size() > 0) std::memcpy(to, from.data(), from.size());
    return to + from.size();
}

}  // namespace

tensor gather_rows(std::span<const tensor* const> parts) {
    std::size_t bytes = 0;
    std::int64_t rows = 0;
    for (const tensor* part : parts) {
        bytes += part->data.size();
        rows += part->shape.front();
    }
    unique_buffer memory(bytes);
    std::byte* at = memory.data();
    for (const tensor* part : parts) at = append(at, part->data);
    tensor whole{parts.front()->type, parts.front()->shape, std::move(memory).share()};
    whole.shape.front() = rows;
    return whole;
}

buffer aligned_copy(const buffer& source) {
    unique_buffer memory(source.size());
    append(memory.data(), source);
    return std::move(memory).share();
}

}  // namespace asio_infer
