#pragma once

#include <asio_infer/infer.hpp>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "request/json_value.hpp"

namespace asio_infer {

/// The parameters that this server itself understands. Which of them may be set depends on the object's owner.
struct known_parameters {
    std::optional<std::uint64_t> timeout_us;
    std::optional<std::uint64_t> binary_data_size;
    std::optional<std::uint32_t> classification;
    std::optional<bool> binary_data;
    std::optional<bool> binary_data_output;
    std::optional<std::string> shared_memory_region;
    std::optional<std::uint64_t> shared_memory_offset;
    std::optional<std::uint64_t> shared_memory_byte_size;
};

/// Reads one "parameters" object: values are booleans, integers, floating-point numbers and strings. The known ones
/// are told apart by the object's owner, all others are kept as they are.
class parameters_reader {
public:
    enum class owner : std::uint8_t { request, input, output };

    /// `others`, which gets the parameters that are not known ones, must live until the object ends.
    void begin(owner of, parameter_list& others, std::size_t max_count);
    /// These return false when fault() says what is wrong.
    bool key(std::string_view name);
    bool value(const json_value& v);

    owner of() const noexcept { return owner_; }
    const known_parameters& known() const noexcept { return known_; }
    const std::string& fault() const noexcept { return fault_; }

private:
    template <class T>
    bool read_number(const json_value& v, std::optional<T>& out);
    bool read_flag(const json_value& v, std::optional<bool>& out);
    bool read_text(const json_value& v, std::optional<std::string>& out);
    bool keep(const json_value& v);
    bool keep_number(std::string_view text);
    bool refuse(std::string_view what);
    std::string_view current() const noexcept { return {key_.data(), key_.size()}; }

    owner owner_ = owner::request;
    boost::container::small_vector<char, 32> key_;  // of the value that comes next
    known_parameters known_;
    parameter_list* others_ = nullptr;
    std::size_t count_ = 0;
    std::size_t max_count_ = 0;
    std::string fault_;
};

}  // namespace asio_infer
