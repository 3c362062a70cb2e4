#include "core/split.hpp"

#include <string>

#include "core/bytes_elements.hpp"

namespace asio_infer {
namespace {

error mismatch(std::string_view output, const std::string& what) {
    return {errc::model_error, "output '" + std::string(output) + "': " + what};
}

std::uint64_t sum(std::span<const std::uint32_t> rows) noexcept {
    std::uint64_t total = 0;
    for (const std::uint32_t n : rows) total += n;
    return total;
}

/// Whether a tensor of a fixed-size type has as many bytes as its shape says.
bool fills(const tensor& t) noexcept {
    const std::size_t width = element_size(t.type);
    return t.data.size() % width == 0 && element_count(t.shape) == t.data.size() / width;
}

tensor part_of(const tensor& whole, std::uint32_t rows, std::size_t offset, std::size_t size) {
    tensor part{whole.type, whole.shape, whole.data.slice(offset, size)};
    part.shape.front() = rows;
    return part;
}

/// Bytes of the next `count` elements, or nothing if they are not all there.
std::optional<std::size_t> skip_elements(bytes_elements& elements, std::size_t count) noexcept {
    const std::size_t before = elements.rest().size();
    for (std::size_t i = 0; i < count; ++i)
        if (!elements.next()) return std::nullopt;
    return before - elements.rest().size();
}

}  // namespace

result<std::vector<tensor>> split_rows(const tensor& whole, std::span<const std::uint32_t> rows,
                                       std::string_view output) {
    const std::uint64_t total = sum(rows);
    if (whole.shape.empty() || whole.shape.front() < 0 || static_cast<std::uint64_t>(whole.shape.front()) != total)
        return mismatch(
            output, "shape " + to_string(whole.shape) + " where a batch of " + std::to_string(total) + " rows was run");
    const std::optional<std::size_t> row_elements = element_count(std::span(whole.shape).subspan(1));
    const bool fixed = whole.type != dtype::bytes;
    if (!row_elements || (fixed && !fills(whole)))
        return mismatch(output,
                        std::to_string(whole.data.size()) + " bytes contradict shape " + to_string(whole.shape));

    std::vector<tensor> parts;
    parts.reserve(rows.size());
    bytes_elements elements(whole.data.bytes());
    std::size_t offset = 0;
    for (const std::uint32_t n : rows) {
        const std::size_t count = n * *row_elements;
        const std::optional<std::size_t> size =
            fixed ? count * element_size(whole.type) : skip_elements(elements, count);
        if (!size) return mismatch(output, "its strings end before shape " + to_string(whole.shape) + " is full");
        parts.push_back(part_of(whole, n, offset, *size));
        offset += *size;
    }
    if (offset != whole.data.size())
        return mismatch(output, "it has more strings than shape " + to_string(whole.shape));
    return parts;
}

}  // namespace asio_infer
