#include "request/typed_contents.hpp"

#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "request/in_quotes.hpp"
#include "request/protobuf_reader.hpp"

namespace asio_infer {
namespace {

/// The fields of InferTensorContents.
enum class contents_field : std::uint32_t {
    boolean = 1,
    int32 = 2,
    int64 = 3,
    uint32 = 4,
    uint64 = 5,
    fp32 = 6,
    fp64 = 7,
    bytes = 8,
};
constexpr std::string_view field_names[]{"",
                                         "bool_contents",
                                         "int_contents",
                                         "int64_contents",
                                         "uint_contents",
                                         "uint64_contents",
                                         "fp32_contents",
                                         "fp64_contents",
                                         "bytes_contents"};

std::string field_name(std::uint32_t number) {
    return number < std::size(field_names) ? std::string(field_names[number]) : "field " + std::to_string(number);
}

error refuse(const named_tensor& input, const std::string& what) {
    return {errc::invalid_request, "input " + in_quotes(input.name) + ": " + what};
}

/// Calls `use` with each value of one field, packed or not. Stops, with false, when `use` returns false.
template <class Get, class Use>
bool for_each_number(std::string_view contents, contents_field wanted, pbf_wire_type type, Get get, Use use) {
    pbf_reader reader(contents.data(), contents.size());
    while (reader.next(static_cast<std::uint32_t>(wanted))) {
        if (reader.wire_type() == type) {
            if (!use(get(reader))) return false;
        } else if (reader.wire_type() == pbf_wire_type::length_delimited) {
            const protozero::data_view packed = reader.get_view();
            const char* at = packed.data();
            const char* const end = at + packed.size();
            while (at != end)
                if (!use(get.packed(at, end))) return false;
        } else {
            reader.skip();
        }
    }
    return true;
}

struct get_varint {
    std::uint64_t operator()(pbf_reader& reader) const { return reader.get_uint64(); }
    std::uint64_t packed(const char*& at, const char* end) const { return protozero::decode_varint(&at, end); }
};

template <class T>
struct get_fixed {
    T operator()(pbf_reader& reader) const {
        if constexpr (sizeof(T) == 4)
            return reader.get_float();
        else
            return reader.get_double();
    }
    T packed(const char*& at, const char* end) const {
        if (static_cast<std::size_t>(end - at) < sizeof(T)) throw protozero::end_of_buffer_exception{};
        T value;
        std::memcpy(&value, at, sizeof value);
        at += sizeof value;
        return value;
    }
};

/// Fills a tensor's memory with exactly the values that its shape takes.
template <class T>
class filler {
public:
    filler(std::size_t elements, std::size_t most_in_message)
        : elements_(elements), memory_(std::min(elements, most_in_message) * sizeof(T)) {}
    bool add(T value) noexcept {
        if (count_ >= elements_ || (count_ + 1) * sizeof(T) > memory_.size()) return false;
        std::memcpy(memory_.data() + count_++ * sizeof(T), &value, sizeof value);
        return true;
    }
    std::size_t count() const noexcept { return count_; }
    buffer share() && { return std::move(memory_).share(); }

private:
    const std::size_t elements_;
    unique_buffer memory_;
    std::size_t count_ = 0;
};

error wrong_count(const named_tensor& input, bool too_many, std::size_t there) {
    const std::string needed = std::to_string(element_count(input.value.shape).value_or(0));
    return refuse(input, "its contents have " + (too_many ? "more than " + needed : std::to_string(there)) +
                             " values where shape " + to_string(input.value.shape) + " takes " + needed);
}

template <class T, class Get, class Convert>
result<void> fill(std::string_view contents, contents_field from, pbf_wire_type type, Get get, Convert convert,
                  named_tensor& input) {
    const std::size_t elements = element_count(input.value.shape).value_or(0);
    filler<T> values(elements, contents.size());  // a value takes a byte at least
    bool in_range = true;
    const bool complete = for_each_number(contents, from, type, get, [&](auto raw) {
        T value{};
        in_range = convert(raw, value);
        return in_range && values.add(value);
    });
    if (!in_range) return refuse(input, "a value is out of the range of " + std::string(name(input.value.type)));
    if (!complete || values.count() != elements) return wrong_count(input, !complete, values.count());
    input.value.data = std::move(values).share();
    return {};
}

/// Integers of up to 32 bits travel as one type: those that the tensor's type cannot hold are refused.
template <class T>
result<void> fill_integers(std::string_view contents, contents_field from, named_tensor& input) {
    const auto convert = [](std::uint64_t raw, T& value) {
        if constexpr (std::is_signed_v<T>) {
            const auto wide = static_cast<std::int64_t>(raw);
            value = static_cast<T>(wide);
            return wide >= std::numeric_limits<T>::min() && wide <= std::numeric_limits<T>::max();
        } else {
            value = static_cast<T>(raw);
            return raw <= std::numeric_limits<T>::max();
        }
    };
    return fill<T>(contents, from, pbf_wire_type::varint, get_varint{}, convert, input);
}

template <class T>
result<void> fill_reals(std::string_view contents, contents_field from, pbf_wire_type type, named_tensor& input) {
    const auto keep = [](T raw, T& value) {
        value = raw;
        return true;
    };
    return fill<T>(contents, from, type, get_fixed<T>{}, keep, input);
}

result<void> fill_booleans(std::string_view contents, named_tensor& input) {
    const auto convert = [](std::uint64_t raw, std::uint8_t& value) {
        value = raw != 0;
        return true;
    };
    return fill<std::uint8_t>(contents, contents_field::boolean, pbf_wire_type::varint, get_varint{}, convert, input);
}

/// Each string becomes a length and its bytes, as the binary form has them.
result<void> fill_strings(std::string_view contents, named_tensor& input) {
    constexpr std::size_t length_size = 4;
    const std::size_t elements = element_count(input.value.shape).value_or(0);
    std::size_t count = 0;
    std::size_t bytes = 0;
    for (pbf_reader reader(contents.data(), contents.size());
         reader.next(static_cast<std::uint32_t>(contents_field::bytes), pbf_wire_type::length_delimited);) {
        bytes += length_size + reader.get_view().size();
        ++count;
    }
    if (count != elements) return wrong_count(input, false, count);
    unique_buffer memory(bytes);
    std::byte* at = memory.data();
    for (pbf_reader reader(contents.data(), contents.size());
         reader.next(static_cast<std::uint32_t>(contents_field::bytes), pbf_wire_type::length_delimited);) {
        const protozero::data_view text = reader.get_view();
        const auto length = static_cast<std::uint32_t>(text.size());
        std::memcpy(at, &length, length_size);
        if (length > 0) std::memcpy(at + length_size, text.data(), length);
        at += length_size + length;
    }
    input.value.data = std::move(memory).share();
    return {};
}

/// The field that carries a type's values; nothing for those that travel as raw contents only.
std::optional<contents_field> field_of(dtype type) noexcept {
    switch (type) {
        case dtype::boolean:
            return contents_field::boolean;
        case dtype::int8:
        case dtype::int16:
        case dtype::int32:
            return contents_field::int32;
        case dtype::int64:
            return contents_field::int64;
        case dtype::uint8:
        case dtype::uint16:
        case dtype::uint32:
            return contents_field::uint32;
        case dtype::uint64:
            return contents_field::uint64;
        case dtype::fp32:
            return contents_field::fp32;
        case dtype::fp64:
            return contents_field::fp64;
        case dtype::bytes:
            return contents_field::bytes;
        case dtype::fp16:
        case dtype::bf16:
            break;
    }
    return std::nullopt;
}

result<void> check_fields(std::string_view contents, contents_field wanted, const named_tensor& input) {
    pbf_reader reader(contents.data(), contents.size());
    while (reader.next()) {
        if (reader.tag() != static_cast<std::uint32_t>(wanted) && reader.tag() < std::size(field_names))
            return refuse(input, "its datatype " + std::string(name(input.value.type)) + " takes " +
                                     field_name(static_cast<std::uint32_t>(wanted)) + ", not " +
                                     field_name(reader.tag()));
        reader.skip();
    }
    return {};
}

}  // namespace

bool has_typed_contents(std::string_view contents) {
    pbf_reader reader(contents.data(), contents.size());
    while (reader.next()) {
        const bool bytes = reader.tag() == static_cast<std::uint32_t>(contents_field::bytes);
        if (reader.wire_type() != pbf_wire_type::length_delimited || bytes) return true;
        if (reader.get_view().size() > 0) return true;
    }
    return false;
}

result<void> read_typed_contents(std::string_view contents, named_tensor& input) {
    const dtype type = input.value.type;
    const std::optional<contents_field> from = field_of(type);
    if (!from) return refuse(input, std::string(name(type)) + " has no typed contents: send it as raw_input_contents");
    if (const result<void> good = check_fields(contents, *from, input); good.has_error()) return good;
    switch (type) {
        case dtype::boolean:
            return fill_booleans(contents, input);
        case dtype::int8:
            return fill_integers<std::int8_t>(contents, *from, input);
        case dtype::int16:
            return fill_integers<std::int16_t>(contents, *from, input);
        case dtype::int32:
            return fill_integers<std::int32_t>(contents, *from, input);
        case dtype::int64:
            return fill_integers<std::int64_t>(contents, *from, input);
        case dtype::uint8:
            return fill_integers<std::uint8_t>(contents, *from, input);
        case dtype::uint16:
            return fill_integers<std::uint16_t>(contents, *from, input);
        case dtype::uint32:
            return fill_integers<std::uint32_t>(contents, *from, input);
        case dtype::uint64:
            return fill_integers<std::uint64_t>(contents, *from, input);
        case dtype::fp32:
            return fill_reals<float>(contents, *from, pbf_wire_type::fixed32, input);
        case dtype::fp64:
            return fill_reals<double>(contents, *from, pbf_wire_type::fixed64, input);
        case dtype::bytes:
            return fill_strings(contents, input);
        case dtype::fp16:
        case dtype::bf16:
            break;
    }
    return {};
}

}  // namespace asio_infer
