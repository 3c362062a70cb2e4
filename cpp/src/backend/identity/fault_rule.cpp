#include "backend/identity/fault_rule.hpp"

#include <asio_infer/error.hpp>
#include <charconv>
#include <cstring>

#include "core/bytes_elements.hpp"
#include "core/half.hpp"

namespace asio_infer {
namespace {

template <class Number>
std::optional<Number> to_number(std::string_view text) noexcept {
    Number number{};
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

template <class T>
T load(const std::byte* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

double number_at(const std::byte* from, dtype type) noexcept {
    switch (type) {
        case dtype::boolean:
        case dtype::uint8:
            return load<std::uint8_t>(from);
        case dtype::uint16:
            return load<std::uint16_t>(from);
        case dtype::uint32:
            return load<std::uint32_t>(from);
        case dtype::uint64:
            return static_cast<double>(load<std::uint64_t>(from));
        case dtype::int8:
            return load<std::int8_t>(from);
        case dtype::int16:
            return load<std::int16_t>(from);
        case dtype::int32:
            return load<std::int32_t>(from);
        case dtype::int64:
            return static_cast<double>(load<std::int64_t>(from));
        case dtype::fp16:
            return static_cast<double>(fp16_to_float(load<std::uint16_t>(from)));
        case dtype::fp32:
            return static_cast<double>(load<float>(from));
        case dtype::fp64:
            return load<double>(from);
        case dtype::bf16:
            return static_cast<double>(bf16_to_float(load<std::uint16_t>(from)));
        case dtype::bytes:
            break;
    }
    return 0;
}

/// How many elements, and how many from the start of one row to the next.
struct row_layout {
    std::size_t elements;
    std::size_t stride;
};

row_layout layout_of(const tensor& input) noexcept {
    const std::size_t elements = element_count(input.shape).value_or(0);
    const std::size_t rows = input.shape.empty() ? 1 : static_cast<std::size_t>(input.shape.front());
    return {elements, rows > 0 ? elements / rows : 0};
}

bool has_row_text(const tensor& input, std::string_view text) noexcept {
    const row_layout layout = layout_of(input);
    if (layout.stride == 0) return false;
    bytes_elements elements(input.data.bytes());
    for (std::size_t i = 0; i < layout.elements; ++i) {
        const auto element = elements.next();
        if (i % layout.stride == 0 && element == text) return true;
    }
    return false;
}

bool has_row_number(const tensor& input, double number) noexcept {
    const row_layout layout = layout_of(input);
    if (layout.stride == 0) return false;
    const std::size_t size = element_size(input.type);
    for (std::size_t i = 0; i < layout.elements; i += layout.stride)
        if (number_at(input.data.data() + i * size, input.type) == number) return true;
    return false;
}

}  // namespace

fault_rule::fault_rule(std::string_view text, dtype type) {
    constexpr std::string_view nth = "nth:";
    constexpr std::string_view row = "row:";
    if (text.empty()) return;
    if (text == "always") {
        every_ = 1;
    } else if (text.starts_with(nth)) {
        every_ = to_number<std::uint64_t>(text.substr(nth.size())).value_or(0);
    } else if (text.starts_with(row) && type == dtype::bytes) {
        row_text_ = text.substr(row.size());
    } else if (text.starts_with(row)) {
        row_number_ = to_number<double>(text.substr(row.size()));
    }
    if (every_ == 0 && !row_text_ && !row_number_)
        throw exception(errc::invalid_request,
                        "identity: \"fail\" takes always, nth:N or row:VALUE, not '" + std::string(text) + "'");
}

bool fault_rule::fails_by_row(const tensor& input) const {
    if (row_text_) return has_row_text(input, *row_text_);
    return row_number_ && has_row_number(input, *row_number_);
}

}  // namespace asio_infer
