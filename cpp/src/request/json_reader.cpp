#include "request/json_reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/escape.hpp"
#include "core/number_text.hpp"
#include "request/binary_tensor.hpp"
#include "request/in_quotes.hpp"

namespace asio_infer {

using kind = json_value::kind;

bool json_reader::value(const json_value& v) {
    if (ignored_ > 0) return ignore(v);
    switch (place_) {
        case place::data:
            return data_value(v);
        case place::dims:
            return shape_value(v);
        case place::input:
            return input_value(v);
        case place::parameters:
            return parameters_value(v);
        case place::inputs:
            return inputs_value(v);
        case place::output:
            return output_value(v);
        case place::outputs:
            return outputs_value(v);
        case place::request:
            return request_value(v);
        case place::document:
            break;
    }
    if (v.type == kind::object) return enter(kind::object, v, place::request);
    return fail("", "the request must be a JSON object, not " + std::string(describe(v.type)));
}

bool json_reader::key(std::string_view name) {
    if (ignored_ > 0) return true;
    switch (place_) {
        case place::request:
            return add_key(request_keys_, request_field(name), name);
        case place::input:
            return add_key(item_keys_, input_field(name), name);
        case place::output:
            return add_key(item_keys_, output_field(name), name);
        case place::parameters:
            return parameters_.key(name) || fail(subject(), parameters_.fault());
        default:
            return fail_here("a key outside of an object");  // the other places let no object begin
    }
}

bool json_reader::close() {
    if (ignored_ > 0) {
        --ignored_;
        return true;
    }
    switch (place_) {
        case place::data:
            return close_data();
        case place::dims:
            place_ = place::input;
            return true;
        case place::input:
            return close_input();
        case place::output:
            return close_output();
        case place::parameters:
            return close_parameters();
        case place::request:
            return close_request();
        default:
            place_ = place::request;
            return true;  // inputs, outputs
    }
}

bool json_reader::ignore(const json_value& v) noexcept {
    if (v.type == kind::object || v.type == kind::array) ++ignored_;
    return true;
}

bool json_reader::add_key(seen_keys& seen, json_field field, std::string_view key) {
    field_ = field;
    if (!seen.add(field, key)) return fail(subject(), "the key " + in_quotes(key) + " repeats");
    if (seen.unknown_count() > limits_.max_parameters)
        return fail(subject(), "more than " + std::to_string(limits_.max_parameters) + " unknown keys");
    return true;
}

bool json_reader::request_value(const json_value& v) {
    switch (field_) {
        case json_field::id:
            return read_string(v, request_.id);
        case json_field::inputs:
            return enter(kind::array, v, place::inputs);
        case json_field::outputs:
            return enter(kind::array, v, place::outputs);
        case json_field::parameters:
            return enter_parameters(v, parameters_reader::owner::request, request_.parameters);
        default:
            return ignore(v);
    }
}

bool json_reader::close_request() {
    place_ = place::document;
    if (!request_keys_.has(json_field::inputs)) return fail("inputs", "missing");
    for (std::size_t i = 0; i < binary_said_.size(); ++i)
        if (!binary_said_[i]) request_.outputs[i].binary = request_.binary_output;
    return true;
}

bool json_reader::inputs_value(const json_value& v) {
    if (request_.inputs.size() == limits_.max_tensors)
        return fail("inputs", "more than " + std::to_string(limits_.max_tensors));
    request_.inputs.emplace_back();
    binary_sizes_.emplace_back();
    item_keys_.clear();
    field_ = json_field::unknown;
    type_.reset();
    shape_known_ = false;
    waiting_.clear();
    return enter(kind::object, v, place::input);
}

bool json_reader::input_value(const json_value& v) {
    switch (field_) {
        case json_field::name:
            return read_string(v, input().name);
        case json_field::datatype:
            return read_datatype(v);
        case json_field::dims:
            shape_known_ = true;
            return enter(kind::array, v, place::dims);
        case json_field::data:
            return begin_data(v);
        case json_field::parameters:
            return enter_parameters(v, parameters_reader::owner::input, input().parameters);
        default:
            return ignore(v);
    }
}

bool json_reader::read_datatype(const json_value& v) {
    if (!expect(kind::string, v)) return false;
    type_ = dtype_from_name(v.text);
    return type_ || fail_here(in_quotes(v.text) + " is no datatype of the protocol");
}

bool json_reader::shape_value(const json_value& v) {
    shape& dims = input().value.shape;
    if (dims.size() == limits_.max_rank)
        return fail(path(), "more than " + std::to_string(limits_.max_rank) + " dimensions");
    const auto fail_dim = [&](std::string_view what) {
        return fail(path() + '[' + std::to_string(dims.size()) + ']', what);
    };
    if (v.type != kind::number) return fail_dim("must be an integer, not " + std::string(describe(v.type)));
    std::int64_t dim = 0;
    if (const number_fault fault = parse_number(v.text, dim); fault != number_fault::none)
        return fail_dim(printable(v.text, 40) + ' ' + std::string(describe(fault)));
    if (dim < 0) return fail_dim(std::to_string(dim) + " is negative");
    dims.push_back(dim);
    return true;
}

/// Counts the elements. Precondition: shape and type are known.
bool json_reader::check_size() {
    tensor& value = input().value;
    value.type = *type_;
    if (!fits_memory(value))
        return fail(subject(), "shape " + to_string(value.shape) + " has more elements than memory can hold");
    elements_ = *element_count(value.shape);
    return true;
}

bool json_reader::begin_data(const json_value& v) {
    if (v.type == kind::object) return fail_here("must be an array, not an object");
    data_depth_ = 0;
    direct_ = type_ && shape_known_;
    if (direct_) {
        if (!check_size()) return false;
        builder_.begin(*type_, input().value.shape, elements_);
    }
    place_ = place::data;
    if (!data_value(v)) return false;
    if (data_depth_ == 0) place_ = place::input;
    return true;
}

bool json_reader::data_value(const json_value& v) {
    if (v.type == kind::object) return fail(subject(), "data: an object among the values");
    if (v.type == kind::array) ++data_depth_;
    if (direct_) return builder_.value(v) || fail(subject(), builder_.fault());
    if (v.type == kind::string && v.text.size() > std::numeric_limits<std::uint32_t>::max())
        return fail(subject(), "data: a string of more than 4 GiB");
    waiting_.value(v);
    return true;
}

bool json_reader::close_data() {
    if (--data_depth_ == 0) place_ = place::input;
    if (direct_) return builder_.close_array() || fail(subject(), builder_.fault());
    waiting_.close_array();
    return true;
}

bool json_reader::close_input() {
    place_ = place::inputs;
    field_ = json_field::inputs;
    const bool has_data = item_keys_.has(json_field::data);
    const bool binary = binary_sizes_.back().has_value();
    if (!require(json_field::name) || !require(json_field::dims) || !require(json_field::datatype)) return false;
    if (input().shared) {
        if (has_data || binary) return fail(subject(), "has data beside shared_memory_region");
        return check_size();
    }
    if (has_data && binary) return fail(subject(), "has both data and binary_data_size");
    if (!has_data && !binary) return fail(subject(), "has neither data nor binary_data_size");
    if (binary) return check_size();
    if (!direct_ && !replay_data()) return false;
    return builder_.finish(input().value.data) || fail(subject(), builder_.fault());
}

bool json_reader::replay_data() {
    if (!check_size()) return false;
    builder_.begin(*type_, input().value.shape, elements_);
    return waiting_.replay(builder_) || fail(subject(), builder_.fault());
}

bool json_reader::outputs_value(const json_value& v) {
    if (request_.outputs.size() == limits_.max_tensors)
        return fail("outputs", "more than " + std::to_string(limits_.max_tensors));
    request_.outputs.emplace_back();
    binary_said_.push_back(false);
    item_keys_.clear();
    field_ = json_field::unknown;
    return enter(kind::object, v, place::output);
}

bool json_reader::output_value(const json_value& v) {
    switch (field_) {
        case json_field::name:
            return read_string(v, request_.outputs.back().name);
        case json_field::parameters:
            return enter_parameters(v, parameters_reader::owner::output, request_.outputs.back().parameters);
        default:
            return ignore(v);
    }
}

bool json_reader::close_output() {
    const bool complete = require(json_field::name);
    place_ = place::outputs;
    field_ = json_field::outputs;
    return complete;
}

bool json_reader::enter_parameters(const json_value& v, parameters_reader::owner of, parameter_list& others) {
    parameters_.begin(of, others, limits_.max_parameters);
    return enter(kind::object, v, place::parameters);
}

bool json_reader::parameters_value(const json_value& v) {
    return parameters_.value(v) || fail(subject(), parameters_.fault());
}

bool json_reader::close_parameters() {
    const known_parameters& known = parameters_.known();
    switch (parameters_.of()) {
        case parameters_reader::owner::request:
            place_ = place::request;
            request_.timeout_us = known.timeout_us.value_or(0);
            request_.binary_output = known.binary_data_output.value_or(false);
            break;
        case parameters_reader::owner::input:
            place_ = place::input;
            binary_sizes_.back() = known.binary_data_size;
            return read_shared(known, input().shared);
        case parameters_reader::owner::output: {
            place_ = place::output;
            requested_output& output = request_.outputs.back();
            output.binary = known.binary_data.value_or(false);
            output.classification = known.classification.value_or(0);
            binary_said_.back() = known.binary_data.has_value();
            if (known.classification == 0U) return fail(subject(), "parameters.classification: must be 1 or more");
            return read_shared(known, output.shared);
        }
    }
    return true;
}

bool json_reader::read_shared(const known_parameters& known, std::optional<shared_memory_ref>& out) {
    if (!known.shared_memory_region) {
        if (!known.shared_memory_offset && !known.shared_memory_byte_size) return true;
        return fail(subject(), "parameters.shared_memory_region: missing");
    }
    if (!known.shared_memory_byte_size) return fail(subject(), "parameters.shared_memory_byte_size: missing");
    out = shared_memory_ref{*known.shared_memory_region, known.shared_memory_offset.value_or(0),
                            *known.shared_memory_byte_size};
    return true;
}

bool json_reader::enter(json_value::kind wanted, const json_value& v, place where) {
    if (!expect(wanted, v)) return false;
    place_ = where;
    return true;
}

bool json_reader::read_string(const json_value& v, std::string& out) {
    if (!expect(kind::string, v)) return false;
    out.assign(v.text);
    return true;
}

bool json_reader::require(json_field field) {
    return item_keys_.has(field) || fail(subject(), std::string(name(field)) + ": missing");
}

bool json_reader::expect(json_value::kind wanted, const json_value& v) {
    if (v.type == wanted) return true;
    return fail_here("must be " + std::string(describe(wanted)) + ", not " + std::string(describe(v.type)));
}

bool json_reader::fail(std::string where, std::string_view what) {
    fault_ = std::move(where);
    if (!fault_.empty()) fault_ += ": ";
    fault_ += what;
    return false;
}

bool json_reader::fail_here(std::string_view what) { return fail(path(), what); }

/// "inputs[1]"; the list alone before its first item.
std::string json_reader::item_place() const {
    const bool output = in_output();
    const std::size_t count = output ? request_.outputs.size() : request_.inputs.size();
    const std::string list = output ? "outputs" : "inputs";
    return count == 0 ? list : list + '[' + std::to_string(count - 1) + ']';
}

bool json_reader::in_output() const noexcept {
    return place_ == place::output || place_ == place::outputs ||
           (place_ == place::parameters && parameters_.of() == parameters_reader::owner::output);
}

bool json_reader::in_request() const noexcept {
    return place_ == place::document || place_ == place::request ||
           (place_ == place::parameters && parameters_.of() == parameters_reader::owner::request);
}

/// The input or output that is being read, by its name once that is known; "" for the request itself.
std::string json_reader::subject() const {
    if (in_request()) return "";
    const bool output = in_output();
    const std::string& own = output ? request_.outputs.back().name : request_.inputs.back().name;
    if (own.empty()) return item_place();
    return (output ? "output " : "input ") + in_quotes(own);
}

std::string json_reader::path() const {
    if (place_ == place::document) return "";
    if (place_ == place::request) return std::string(name(field_));
    if (place_ == place::inputs || place_ == place::outputs) return item_place();
    std::string text = in_request() ? "" : item_place() + '.';
    text += name(field_);
    if (field_ == json_field::unknown) text.pop_back();
    return text;
}

json_request json_reader::take() && { return {std::move(request_), std::move(binary_sizes_)}; }

}  // namespace asio_infer
