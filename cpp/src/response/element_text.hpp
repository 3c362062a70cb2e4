#pragma once

#include <asio_infer/dtype.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "core/half.hpp"
#include "core/number_text.hpp"

namespace asio_infer {

/// Room that one printed element needs at most.
inline constexpr std::size_t max_element_text = max_number_text;

/// One number of a tensor: how it is stored, compared and printed.
template <class Stored, class Value, Value (*widen)(Stored) noexcept, char* (*print_it)(char*, Stored) noexcept>
class number_element {
public:
    using stored = Stored;

    /// Reads one element, aligned or not.
    explicit number_element(const std::byte* at) noexcept { std::memcpy(&bits_, at, sizeof bits_); }
    Value value() const noexcept { return widen(bits_); }
    bool finite() const noexcept {
        if constexpr (std::is_floating_point_v<Value>) return std::isfinite(value());
        return true;
    }
    /// Prints it, "nan", "inf" or "-inf" included, and returns the end.
    char* print(char* out) const noexcept {
        if (finite()) return print_it(out, bits_);
        if constexpr (std::is_floating_point_v<Value>) {
            const std::string_view text = std::isnan(value()) ? "nan" : value() > 0 ? "inf" : "-inf";
            return out + text.copy(out, max_element_text);
        }
        return out;
    }

private:
    Stored bits_;
};

namespace detail {

template <class T>
constexpr T same(T value) noexcept {
    return value;
}
template <class T>
char* print_same(char* out, T value) noexcept {
    if constexpr (std::is_floating_point_v<T>)
        return print_number(out, value);
    else if constexpr (std::is_signed_v<T>)
        return print_number(out, std::int64_t{value});
    else
        return print_number(out, std::uint64_t{value});
}
template <class T>
using plain_element = number_element<T, T, same<T>, print_same<T>>;

}  // namespace detail

using fp16_element = number_element<std::uint16_t, float, fp16_to_float, print_fp16>;
using bf16_element = number_element<std::uint16_t, float, bf16_to_float, print_bf16>;

/// Calls visitor(std::type_identity<the element class of this type>). Precondition: neither boolean nor bytes.
template <class Visitor>
auto visit_number(dtype type, Visitor visitor) {
    using std::type_identity;
    switch (type) {
        case dtype::uint8:
            return visitor(type_identity<detail::plain_element<std::uint8_t>>{});
        case dtype::uint16:
            return visitor(type_identity<detail::plain_element<std::uint16_t>>{});
        case dtype::uint32:
            return visitor(type_identity<detail::plain_element<std::uint32_t>>{});
        case dtype::uint64:
            return visitor(type_identity<detail::plain_element<std::uint64_t>>{});
        case dtype::int8:
            return visitor(type_identity<detail::plain_element<std::int8_t>>{});
        case dtype::int16:
            return visitor(type_identity<detail::plain_element<std::int16_t>>{});
        case dtype::int32:
            return visitor(type_identity<detail::plain_element<std::int32_t>>{});
        case dtype::int64:
            return visitor(type_identity<detail::plain_element<std::int64_t>>{});
        case dtype::fp16:
            return visitor(type_identity<fp16_element>{});
        case dtype::bf16:
            return visitor(type_identity<bf16_element>{});
        case dtype::fp64:
            return visitor(type_identity<detail::plain_element<double>>{});
        case dtype::fp32:
        case dtype::boolean:
        case dtype::bytes:
            break;
    }
    return visitor(type_identity<detail::plain_element<float>>{});
}

}  // namespace asio_infer
