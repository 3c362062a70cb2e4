#include "response/classification.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "response/element_text.hpp"

namespace asio_infer {
namespace {

/// "Higher" as an order of all values: NaN is below everything.
template <class T>
bool higher(T left, T right) noexcept {
    if constexpr (std::is_floating_point_v<T>)
        if (std::isnan(left) || std::isnan(right)) return !std::isnan(left) && std::isnan(right);
    return left > right;
}

void append_element(std::string& packed, std::string_view text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    packed.append(reinterpret_cast<const char*>(&length), sizeof length);
    packed += text;
}

template <class Element>
void append_top(std::string& packed, const std::byte* row, std::vector<std::size_t>& order, std::size_t k) {
    const auto at = [row](std::size_t i) { return Element(row + i * sizeof(typename Element::stored)); };
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto before = [&](std::size_t a, std::size_t b) {
        if (higher(at(a).value(), at(b).value())) return true;
        return !higher(at(b).value(), at(a).value()) && a < b;
    };
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), before);
    for (std::size_t i = 0; i < k; ++i) {
        char text[max_element_text + 24];
        char* end = at(order[i]).print(text);
        *end++ = ':';
        end = print_number(end, std::uint64_t{order[i]});
        append_element(packed, {text, end});
    }
}

buffer to_buffer(const std::string& bytes) {
    unique_buffer memory(bytes.size());
    if (!bytes.empty()) std::memcpy(memory.data(), bytes.data(), bytes.size());
    return std::move(memory).share();
}

}  // namespace

result<tensor> classify(const tensor& scores, std::uint32_t k, bool by_row) {
    if (scores.type == dtype::bytes || scores.type == dtype::boolean)
        return error{errc::invalid_request, "classification needs numbers, not " + std::string(name(scores.type))};
    by_row = by_row && !scores.shape.empty();
    const std::span<const std::int64_t> dims(scores.shape);
    const std::size_t rows = by_row ? static_cast<std::size_t>(dims.front()) : 1;
    const std::size_t classes = element_count(dims.subspan(by_row ? 1 : 0)).value_or(0);
    const std::size_t kept = std::min<std::size_t>(k, classes);
    std::string packed;
    std::vector<std::size_t> order(rows > 0 ? classes : 0);
    const std::size_t row_bytes = classes * element_size(scores.type);
    visit_number(scores.type, [&](auto element) {
        for (std::size_t row = 0; row < rows; ++row)
            append_top<typename decltype(element)::type>(packed, scores.data.data() + row * row_bytes, order, kept);
    });
    tensor top{dtype::bytes, {static_cast<std::int64_t>(kept)}, to_buffer(packed)};
    if (by_row) top.shape.insert(top.shape.begin(), dims.front());
    return top;
}

}  // namespace asio_infer
