#include "request/decode_protobuf.hpp"

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "core/escape.hpp"
#include "request/binary_tensor.hpp"
#include "request/in_quotes.hpp"
#include "request/protobuf_reader.hpp"
#include "request/typed_contents.hpp"

namespace asio_infer {
namespace {

constexpr std::uint32_t raw_input_contents = 7;

error refuse(const std::string& where, const std::string& what) {
    return {errc::invalid_request, where.empty() ? what : where + ": " + what};
}

std::string subject(std::size_t index, std::string_view name, std::string_view list) {
    return name.empty() ? std::string(list) + '[' + std::to_string(index) + ']' : "input " + in_quotes(name);
}

/// One pass over a message, which fills an infer_request.
class infer_reader {
public:
    infer_reader(const buffer& message, const limits& bounds, protobuf_infer& out)
        : message_(message), bounds_(bounds), out_(out), request_(out.request) {}

    result<void> read() {
        pbf_reader reader(reinterpret_cast<const char*>(message_.data()), message_.size());
        while (reader.next()) {
            const result<void> good = read_field(reader);
            if (good.has_error()) return good;
        }
        if (!is_utf8(request_.id)) return refuse("id", "is not UTF-8");
        return attach_contents();
    }

private:
    result<void> read_field(pbf_reader& reader) {
        switch (reader.tag_and_type()) {
            case text_field(1):
                out_.model = text_of(reader.get_view());
                return {};
            case text_field(2):
                out_.version = text_of(reader.get_view());
                return {};
            case text_field(3):
                request_.id = text_of(reader.get_view());
                return {};
            case text_field(4):
                return read_request_parameter(reader.get_message());
            case text_field(5):
                return read_input(reader.get_message());
            case text_field(6):
                return read_output(reader.get_message());
            case text_field(raw_input_contents):
                if (raw_.size() == bounds_.max_tensors)
                    return refuse("raw_input_contents", "more than " + std::to_string(bounds_.max_tensors));
                raw_.push_back(reader.get_view());
                return {};
            default:
                reader.skip();
                return {};
        }
    }

    // Parameters

    struct parameter {
        std::string_view name;
        std::optional<parameter_value> value;
    };

    static parameter read_entry(pbf_reader entry) {
        parameter read;
        while (entry.next()) {
            switch (entry.tag_and_type()) {
                case text_field(1):
                    read.name = text_of(entry.get_view());
                    break;
                case text_field(2):
                    read.value = read_value(entry.get_message());
                    break;
                default:
                    entry.skip();
            }
        }
        return read;
    }

    static std::optional<parameter_value> read_value(pbf_reader choice) {
        std::optional<parameter_value> value;
        while (choice.next()) {
            switch (choice.tag_and_type()) {
                case number_field(1):
                    value = choice.get_bool();
                    break;
                case number_field(2):
                    value = choice.get_int64();
                    break;
                case text_field(3):
                    value = std::string(text_of(choice.get_view()));
                    break;
                case field(4, pbf_wire_type::fixed64):
                    value = choice.get_double();
                    break;
                case number_field(5):
                    value = choice.get_uint64();
                    break;
                default:
                    choice.skip();
            }
        }
        return value;
    }

    static error refuse_parameter(const std::string& where, std::string_view name, const std::string& what) {
        return refuse(where, "parameters." + printable(name) + ": " + what);
    }

    /// A parameter that is a whole number from 0.
    static result<std::uint64_t> whole_number(const std::string& where, const parameter& p) {
        if (const auto* number = std::get_if<std::int64_t>(&*p.value)) {
            if (*number < 0) return refuse_parameter(where, p.name, std::to_string(*number) + " is negative");
            return static_cast<std::uint64_t>(*number);
        }
        if (const auto* number = std::get_if<std::uint64_t>(&*p.value)) return *number;
        return refuse_parameter(where, p.name, "must be a whole number");
    }

    result<void> keep(const std::string& where, parameter&& p, parameter_list& others) const {
        if (others.size() == bounds_.max_parameters)
            return refuse_parameter(where, p.name, "is one of more than " + std::to_string(bounds_.max_parameters));
        for (const auto& [other, value] : others)
            if (other == p.name) return refuse_parameter(where, p.name, "repeats");
        others.emplace_back(p.name, std::move(*p.value));
        return {};
    }

    /// Takes the parameters that say where in shared memory a tensor is; others are left to `keep`.
    struct shared_parameters {
        std::optional<std::string> region;
        std::optional<std::uint64_t> offset;
        std::optional<std::uint64_t> byte_size;

        result<bool> take(const std::string& where, const parameter& p) {
            if (p.name == "shared_memory_region") {
                const auto* text = std::get_if<std::string>(&*p.value);
                if (text == nullptr) return refuse_parameter(where, p.name, "must be a text");
                region = *text;
                return true;
            }
            if (p.name != "shared_memory_offset" && p.name != "shared_memory_byte_size") return false;
            const result<std::uint64_t> number = whole_number(where, p);
            if (number.has_error()) return number.error();
            (p.name == "shared_memory_offset" ? offset : byte_size) = *number;
            return true;
        }

        result<void> finish(const std::string& where, std::optional<shared_memory_ref>& out) const {
            if (!region && !offset && !byte_size) return {};
            if (!region) return refuse_parameter(where, "shared_memory_region", "missing");
            if (!byte_size) return refuse_parameter(where, "shared_memory_byte_size", "missing");
            out = shared_memory_ref{*region, offset.value_or(0), *byte_size};
            return {};
        }
    };

    result<void> read_request_parameter(pbf_reader entry) {
        parameter p = read_entry(entry);
        if (!p.value) return refuse_parameter("", p.name, "has no value");
        if (p.name == "timeout") {
            const result<std::uint64_t> microseconds = whole_number("", p);
            if (microseconds.has_error()) return microseconds.error();
            request_.timeout_us = *microseconds;
            return {};
        }
        if (p.name == "binary_data_output") return {};  // of REST: answers are raw here
        return keep("", std::move(p), request_.parameters);
    }

    // Inputs and outputs

    struct pending_input {
        std::string_view contents;
        bool typed = false;
    };

    result<void> read_input(pbf_reader reader) {
        const std::size_t index = request_.inputs.size();
        if (index == bounds_.max_tensors) return refuse("inputs", "more than " + std::to_string(bounds_.max_tensors));
        named_tensor& input = request_.inputs.emplace_back();
        pending_input& pending = pending_.emplace_back();
        std::string_view datatype;
        shared_parameters shared;
        while (reader.next()) {
            switch (reader.tag_and_type()) {
                case text_field(1):
                    input.name = text_of(reader.get_view());
                    break;
                case text_field(2):
                    datatype = text_of(reader.get_view());
                    break;
                case number_field(3):
                    input.value.shape.push_back(reader.get_int64());
                    break;
                case text_field(3):
                    for (const std::int64_t dim : reader.get_packed_int64()) {
                        if (input.value.shape.size() > bounds_.max_rank) break;
                        input.value.shape.push_back(dim);
                    }
                    break;
                case text_field(4): {
                    parameter p = read_entry(reader.get_message());
                    const std::string where = subject(index, input.name, "inputs");
                    if (!p.value) return refuse_parameter(where, p.name, "has no value");
                    const result<bool> taken = shared.take(where, p);
                    if (taken.has_error()) return taken.error();
                    if (*taken) break;
                    if (const result<void> good = keep(where, std::move(p), input.parameters); good.has_error())
                        return good;
                    break;
                }
                case text_field(5):
                    pending.contents = text_of(reader.get_view());
                    break;
                default:
                    reader.skip();
            }
            if (input.value.shape.size() > bounds_.max_rank)
                return refuse(subject(index, input.name, "inputs"),
                              "shape: more than " + std::to_string(bounds_.max_rank) + " dimensions");
        }
        pending.typed = has_typed_contents(pending.contents);
        if (const result<void> good = check_input(index, datatype); good.has_error()) return good;
        return shared.finish(subject(index, input.name, "inputs"), input.shared);
    }

    result<void> check_input(std::size_t index, std::string_view datatype) {
        named_tensor& input = request_.inputs[index];
        const std::string where = subject(index, input.name, "inputs");
        if (input.name.empty()) return refuse(where, "name is missing");
        if (datatype.empty()) return refuse(where, "datatype is missing");
        const std::optional<dtype> type = dtype_from_name(datatype);
        if (!type) return refuse(where, "datatype " + in_quotes(datatype) + " is no datatype of the protocol");
        input.value.type = *type;
        for (std::size_t i = 0; i < input.value.shape.size(); ++i)
            if (input.value.shape[i] < 0)
                return refuse(where, "shape[" + std::to_string(i) + "]: " + std::to_string(input.value.shape[i]) +
                                         " is negative");
        if (!fits_memory(input.value))
            return refuse(where, "shape " + to_string(input.value.shape) + " has more elements than memory can hold");
        return {};
    }

    result<void> read_output(pbf_reader reader) {
        if (request_.outputs.size() == bounds_.max_tensors)
            return refuse("outputs", "more than " + std::to_string(bounds_.max_tensors));
        requested_output& output = request_.outputs.emplace_back();
        output.binary = true;
        shared_parameters shared;
        while (reader.next()) {
            switch (reader.tag_and_type()) {
                case text_field(1):
                    output.name = text_of(reader.get_view());
                    break;
                case text_field(2):
                    if (const result<void> good = read_output_parameter(reader.get_message(), output, shared);
                        good.has_error())
                        return good;
                    break;
                default:
                    reader.skip();
            }
        }
        if (output.name.empty()) return refuse("outputs", "name is missing");
        return shared.finish("output " + in_quotes(output.name), output.shared);
    }

    result<void> read_output_parameter(pbf_reader entry, requested_output& output, shared_parameters& shared) {
        parameter p = read_entry(entry);
        const std::string where = "output " + in_quotes(output.name);
        if (!p.value) return refuse_parameter(where, p.name, "has no value");
        if (p.name == "binary_data") return {};  // of REST: answers are raw here
        const result<bool> taken = shared.take(where, p);
        if (taken.has_error()) return taken.error();
        if (*taken) return {};
        if (p.name != "classification") return keep(where, std::move(p), output.parameters);
        const result<std::uint64_t> k = whole_number(where, p);
        if (k.has_error()) return k.error();
        if (*k > std::numeric_limits<std::uint32_t>::max())
            return refuse_parameter(where, p.name, std::to_string(*k) + " is out of range");
        output.classification = static_cast<std::uint32_t>(*k);
        return {};
    }

    // Contents

    /// The inputs that are not in shared memory have their bytes here, all in one of the two forms.
    result<void> attach_contents() {
        std::size_t in_message = 0;
        for (const named_tensor& input : request_.inputs) in_message += input.shared ? 0 : 1;
        if (!raw_.empty() && raw_.size() != in_message)
            return refuse("raw_input_contents",
                          std::to_string(raw_.size()) + " given for " + std::to_string(in_message) + " inputs");
        std::size_t next_raw = 0;
        for (std::size_t i = 0; i < request_.inputs.size(); ++i) {
            const result<void> good = request_.inputs[i].shared ? expect_none(i)
                                      : raw_.empty()            ? attach_typed(i)
                                                                : attach_raw(i, raw_[next_raw++]);
            if (good.has_error()) return good;
        }
        return {};
    }

    result<void> expect_none(std::size_t index) {
        if (!pending_[index].typed) return {};
        return refuse(subject(index, request_.inputs[index].name, "inputs"),
                      "has contents beside shared_memory_region");
    }

    result<void> attach_raw(std::size_t index, const protozero::data_view& raw) {
        named_tensor& input = request_.inputs[index];
        if (pending_[index].typed)
            return refuse(subject(index, input.name, "inputs"),
                          "has typed contents beside raw_input_contents; send one of them");
        const auto begin = reinterpret_cast<const char*>(message_.data());
        input.value.data = message_.slice(static_cast<std::size_t>(raw.data() - begin), raw.size());
        return check_binary_tensor(input, "its raw contents have");
    }

    result<void> attach_typed(std::size_t index) {
        return read_typed_contents(pending_[index].contents, request_.inputs[index]);
    }

    const buffer& message_;
    const limits& bounds_;
    protobuf_infer& out_;
    infer_request& request_;
    boost::container::small_vector<pending_input, 4> pending_;
    boost::container::small_vector<protozero::data_view, 4> raw_;
};

}  // namespace

result<void> decode_infer_protobuf(const buffer& message, const limits& bounds, protobuf_infer& out) {
    out.request.binary_output = true;
    return read_message("ModelInferRequest", [&] { return infer_reader(message, bounds, out).read(); });
}

std::size_t first_raw_tensor(std::string_view first_bytes) noexcept {
    const char* at = first_bytes.data();
    const char* const end = at + first_bytes.size();
    try {
        while (at != end) {
            const auto key = static_cast<std::uint32_t>(protozero::decode_varint(&at, end));
            if ((key & 7U) != static_cast<std::uint32_t>(pbf_wire_type::length_delimited)) return 0;
            const std::uint64_t length = protozero::decode_varint(&at, end);
            if (key >> 3U == raw_input_contents) return static_cast<std::size_t>(at - first_bytes.data());
            if (length > static_cast<std::uint64_t>(end - at)) return 0;
            at += length;
        }
    } catch (const protozero::exception&) {
        return 0;  // more bytes would tell
    }
    return 0;
}

}  // namespace asio_infer
