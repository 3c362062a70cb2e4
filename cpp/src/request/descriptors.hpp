#pragma once

#include <span>
#include <string_view>

namespace asio_infer {

/// A .proto file of cpp/proto/ for clients that ask by reflection.
struct file_descriptor {
    std::string_view name;
    std::string_view service;                   ///< the full name of the one service in it
    std::span<const unsigned char> bytes;       ///< a FileDescriptorProto
    std::span<const std::string_view> symbols;  ///< full names of what is in it
};

std::span<const file_descriptor> file_descriptors() noexcept;

}  // namespace asio_infer
