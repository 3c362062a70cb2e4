#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "request/json_data.hpp"
#include "request/json_fields.hpp"
#include "request/json_parameters.hpp"
#include "request/json_request.hpp"
#include "request/json_value.hpp"

namespace asio_infer {

/// Builds a request from the events of a JSON parser, in one pass. Every event returns false when fault() says what
/// is wrong and where; the reader must not be used after that.
class json_reader {
public:
    explicit json_reader(const limits& bounds) noexcept : limits_(bounds) {}

    bool value(const json_value& v);
    bool key(std::string_view name);
    /// The end of an array or object.
    bool close();

    const std::string& fault() const noexcept { return fault_; }
    /// "inputs[1].shape": the field that is being read, for faults that the parser finds; "" outside of any.
    std::string path() const;
    /// The request, once the document has ended.
    json_request take() &&;

private:
    /// The array or object that the next value belongs to.
    enum class place : std::uint8_t { document, request, inputs, input, dims, data, outputs, output, parameters };

    bool request_value(const json_value& v);
    bool inputs_value(const json_value& v);
    bool input_value(const json_value& v);
    bool shape_value(const json_value& v);
    bool begin_data(const json_value& v);
    bool data_value(const json_value& v);
    bool outputs_value(const json_value& v);
    bool output_value(const json_value& v);
    bool parameters_value(const json_value& v);
    bool ignore(const json_value& v) noexcept;

    bool close_request();
    bool close_input();
    bool close_data();
    bool close_output();
    bool close_parameters();

    bool add_key(seen_keys& seen, json_field field, std::string_view key);
    bool read_shared(const known_parameters& known, std::optional<shared_memory_ref>& out);
    bool enter(json_value::kind wanted, const json_value& v, place where);
    bool enter_parameters(const json_value& v, parameters_reader::owner of, parameter_list& others);
    bool read_string(const json_value& v, std::string& out);
    bool read_datatype(const json_value& v);
    bool check_size();
    bool replay_data();
    bool require(json_field field);
    bool expect(json_value::kind wanted, const json_value& v);
    bool fail(std::string where, std::string_view what);
    bool fail_here(std::string_view what);
    bool in_request() const noexcept;
    bool in_output() const noexcept;
    std::string item_place() const;
    std::string subject() const;
    named_tensor& input() noexcept { return request_.inputs.back(); }

    const limits& limits_;
    place place_ = place::document;
    json_field field_ = json_field::unknown;  // of the innermost object that is not a parameters object
    std::size_t ignored_ = 0;                 // open arrays and objects inside a value that is skipped

    infer_request request_;
    boost::container::small_vector<std::optional<std::uint64_t>, 4> binary_sizes_;
    boost::container::small_vector<bool, 4> binary_said_;  // for each requested output
    seen_keys request_keys_;
    seen_keys item_keys_;  // of the current input or output

    // The current input.
    std::optional<dtype> type_;
    bool shape_known_ = false;
    std::size_t elements_ = 0;
    bool direct_ = false;  // data goes straight into the builder; otherwise it waits for shape and type
    std::size_t data_depth_ = 0;
    data_builder builder_;
    data_tokens waiting_;

    parameters_reader parameters_;
    std::string fault_;
};

}  // namespace asio_infer
