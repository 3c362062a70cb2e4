#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstddef>
#include <string_view>

namespace asio_infer::http2 {

/// The fields of an answer's header or trailer. Names are literals; values live until they are submitted, which copies
/// them.
class field_list {
public:
    void add(std::string_view literal_name, std::string_view value) noexcept {
        nghttp2_nv& field = fields_[size_++];
        field.name = bytes_of(literal_name);
        field.namelen = literal_name.size();
        field.value = bytes_of(value);
        field.valuelen = value.size();
        field.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME;
    }
    const nghttp2_nv* data() const noexcept { return fields_.data(); }
    std::size_t size() const noexcept { return size_; }

private:
    /// nghttp2 does not write to what it is given.
    static std::uint8_t* bytes_of(std::string_view text) noexcept {
        return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
    }

    static constexpr std::size_t most = 16;  ///< more than any answer has
    std::array<nghttp2_nv, most> fields_;
    std::size_t size_ = 0;
};

}  // namespace asio_infer::http2
