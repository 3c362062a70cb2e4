#pragma once

#include <asio_infer/error.hpp>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace asio_infer {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

inline std::string_view text_of(const protozero::data_view& view) noexcept { return {view.data(), view.size()}; }

/// A field's number and wire type as one value to switch over; a known number with another wire type is skipped as an
/// unknown field is, as the protobuf specification asks.
constexpr std::uint32_t field(std::uint32_t number, pbf_wire_type type) noexcept {
    return protozero::tag_and_type(number, type);
}
constexpr std::uint32_t text_field(std::uint32_t number) noexcept {
    return field(number, pbf_wire_type::length_delimited);
}
constexpr std::uint32_t number_field(std::uint32_t number) noexcept { return field(number, pbf_wire_type::varint); }

/// Runs `read`, in which protozero may find that the bytes are no message; `what`: the message's name, for the error.
template <class Read>
result<void> read_message(std::string_view what, Read read) {
    try {
        return read();
    } catch (const protozero::exception& e) {
        return error{errc::invalid_request, "the message is no " + std::string(what) + ": " + e.what()};
    }
}

}  // namespace asio_infer
