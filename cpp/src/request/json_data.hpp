#pragma once

#include <asio_infer/tensor.hpp>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "request/json_value.hpp"

namespace asio_infer {

/// Turns the values of a "data" field into a tensor's memory as they come. Takes them flat or nested as the shape
/// says, row-major. Memory grows with what arrives, never ahead of it by more than a factor of two.
class data_builder {
public:
    /// Starts a tensor of this shape, which must live until finish(). `elements` is its element count.
    void begin(dtype type, std::span<const std::int64_t> dims, std::size_t elements);
    /// A scalar, or the start of an array or object. These return false when fault() says what is wrong.
    bool value(const json_value& v);
    bool close_array();
    /// Ends the tensor; `out` gets its bytes.
    bool finish(buffer& out);
    const std::string& fault() const noexcept { return fault_; }

private:
    bool open_array();
    bool place_scalar();
    bool store_number(std::string_view text);
    bool store_string(std::string_view text);
    bool store_boolean(bool truth);
    std::byte* grow(std::size_t bytes);
    bool refuse(std::string what);
    bool refuse_kind(json_value::kind given);

    dtype type_ = dtype::fp32;
    bool flat_ = false;    // the outermost array holds scalars
    bool nested_ = false;  // it holds arrays
    std::size_t width_ = 0;
    std::size_t elements_ = 0;
    std::size_t count_ = 0;  // elements so far
    std::span<const std::int64_t> dims_;
    boost::container::small_vector<std::int64_t, 8> open_;  // for each open array: how many items it has so far
    unique_buffer memory_;
    std::size_t used_ = 0;
    std::string fault_;
};

/// The values of a "data" field that came before the shape or the datatype, packed to be read again.
class data_tokens {
public:
    void clear() noexcept { packed_.clear(); }
    /// Precondition: not an object; a string has less than 4 GiB.
    void value(const json_value& v);
    void close_array() { packed_ += ']'; }
    /// Hands everything to the builder; false where the builder says so.
    bool replay(data_builder& to) const;

private:
    std::string packed_;
};

}  // namespace asio_infer
