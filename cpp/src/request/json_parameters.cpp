#include "request/json_parameters.hpp"

#include "core/escape.hpp"
#include "core/number_text.hpp"

namespace asio_infer {

void parameters_reader::begin(owner of, parameter_list& others, std::size_t max_count) {
    owner_ = of;
    known_ = {};
    others_ = &others;
    count_ = 0;
    max_count_ = max_count;
}

bool parameters_reader::key(std::string_view name) {
    key_.assign(name.begin(), name.end());
    if (++count_ > max_count_) return refuse("is one of more than " + std::to_string(max_count_));
    for (const auto& [other, value] : *others_)
        if (other == name) return refuse("repeats");
    return true;
}

bool parameters_reader::value(const json_value& v) {
    const std::string_view key = current();
    switch (owner_) {
        case owner::request:
            if (key == "timeout") return read_number(v, known_.timeout_us);
            if (key == "binary_data_output") return read_flag(v, known_.binary_data_output);
            break;
        case owner::input:
            if (key == "binary_data_size") return read_number(v, known_.binary_data_size);
            break;
        case owner::output:
            if (key == "binary_data") return read_flag(v, known_.binary_data);
            if (key == "classification") return read_number(v, known_.classification);
            break;
    }
    if (owner_ != owner::request) {
        if (key == "shared_memory_region") return read_text(v, known_.shared_memory_region);
        if (key == "shared_memory_offset") return read_number(v, known_.shared_memory_offset);
        if (key == "shared_memory_byte_size") return read_number(v, known_.shared_memory_byte_size);
    }
    return keep(v);
}

template <class T>
bool parameters_reader::read_number(const json_value& v, std::optional<T>& out) {
    if (out) return refuse("repeats");
    if (v.type != json_value::kind::number)
        return refuse("must be a whole number, not " + std::string(describe(v.type)));
    T number = 0;
    if (const number_fault fault = parse_number(v.text, number); fault != number_fault::none)
        return refuse(printable(v.text, 40) + ' ' + std::string(describe(fault)));
    out = number;
    return true;
}

bool parameters_reader::read_flag(const json_value& v, std::optional<bool>& out) {
    if (out) return refuse("repeats");
    if (v.type != json_value::kind::boolean)
        return refuse("must be true or false, not " + std::string(describe(v.type)));
    out = v.truth;
    return true;
}

bool parameters_reader::read_text(const json_value& v, std::optional<std::string>& out) {
    if (out) return refuse("repeats");
    if (v.type != json_value::kind::string) return refuse("must be a text, not " + std::string(describe(v.type)));
    out = std::string(v.text);
    return true;
}

bool parameters_reader::keep(const json_value& v) {
    switch (v.type) {
        case json_value::kind::boolean:
            others_->emplace_back(current(), v.truth);
            return true;
        case json_value::kind::string:
            others_->emplace_back(current(), std::string(v.text));
            return true;
        case json_value::kind::number:
            return keep_number(v.text);
        case json_value::kind::object:
        case json_value::kind::array:
        case json_value::kind::null:
            break;
    }
    return refuse("must be a boolean, a number or a string, not " + std::string(describe(v.type)));
}

/// Digits alone are an integer, anything else a double.
bool parameters_reader::keep_number(std::string_view text) {
    const bool floating = text.find_first_of(".eE") != text.npos;
    std::int64_t number = 0;
    std::uint64_t large = 0;
    double real = 0;
    if (floating && parse_number(text, real) == number_fault::none)
        others_->emplace_back(current(), real);
    else if (!floating && parse_number(text, number) == number_fault::none)
        others_->emplace_back(current(), number);
    else if (!floating && parse_number(text, large) == number_fault::none)
        others_->emplace_back(current(), large);
    else
        return refuse(printable(text, 40) + " is out of range");
    return true;
}

bool parameters_reader::refuse(std::string_view what) {
    fault_ = "parameters." + printable(current(), 200) + ": " + std::string(what);
    return false;
}

}  // namespace asio_infer
