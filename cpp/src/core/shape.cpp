#include <asio_infer/shape.hpp>
#include <limits>

namespace asio_infer {

std::optional<std::size_t> element_count(std::span<const std::int64_t> dims) noexcept {
    std::int64_t product = 1;
    bool empty = false;
    for (std::int64_t dim : dims) {
        if (dim < 0) return std::nullopt;
        if (dim == 0) {
            empty = true;
            continue;
        }
        if (product > std::numeric_limits<std::int64_t>::max() / dim) return std::nullopt;
        product *= dim;
    }
    return empty ? std::size_t{0} : static_cast<std::size_t>(product);
}

std::string to_string(std::span<const std::int64_t> dims) {
    std::string text = "[";
    for (std::int64_t dim : dims) {
        if (text.size() > 1) text += ',';
        text += std::to_string(dim);
    }
    return text += ']';
}

}  // namespace asio_infer
