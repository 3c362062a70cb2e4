#include "metrics/sample_writer.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace asio_infer {

namespace {

/// Room for any number: 20 digits of an integer, 24 characters of the shortest form of a double.
using number_text = std::array<char, 32>;

template <class Number>
std::string_view print(Number value, number_text& memory) noexcept {
    const auto [end, failed] = std::to_chars(memory.data(), memory.data() + memory.size(), value);
    return {memory.data(), end};
}

std::string_view print_double(double value, number_text& memory) noexcept {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
    return print(value, memory);
}

void append_label_value(std::string& out, std::string_view value) {
    for (const char c : value) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '\\' || c == '"') out += '\\';
        out += c;
    }
}

void append_label(std::string& out, char before, std::string_view name, std::string_view value) {
    out += before;
    out += name;
    out += "=\"";
    append_label_value(out, value);
    out += '"';
}

}  // namespace

void sample_writer::begin_line(std::string_view suffix, labels with, std::string_view upper_bound) {
    if (!described_) {
        described_ = true;
        out_.append("# HELP ").append(metric_.name).append(" ").append(metric_.help);
        out_.append("\n# TYPE ").append(metric_.name).append(" ").append(name(metric_.type)).append("\n");
    }
    out_.append(metric_.name).append(suffix);
    append_labels(with, upper_bound);
    out_ += ' ';
}

void sample_writer::append_labels(labels with, std::string_view upper_bound) {
    char before = '{';
    for (const metric_label& label : with) {
        append_label(out_, before, label.name, label.value);
        before = ',';
    }
    if (!upper_bound.empty()) {
        append_label(out_, before, "le", upper_bound);
        before = ',';
    }
    if (before == ',') out_ += '}';
}

void sample_writer::append_value(std::uint64_t value) {
    number_text memory;
    out_ += print(value, memory);
}

void sample_writer::append_value(std::int64_t value) {
    number_text memory;
    out_ += print(value, memory);
}

void sample_writer::append_value(double value) {
    number_text memory;
    out_ += print_double(value, memory);
}

void sample_writer::bucket(labels with, double upper_bound, std::uint64_t count) {
    number_text memory;
    begin_line("_bucket", with, print_double(upper_bound, memory));
    append_value(count);
    out_ += '\n';
}

void sample_writer::totals(labels with, double sum, std::uint64_t count) {
    begin_line("_bucket", with, "+Inf");
    append_value(count);
    out_ += '\n';
    begin_line("_sum", with, {});
    append_value(sum);
    out_ += '\n';
    begin_line("_count", with, {});
    append_value(count);
    out_ += '\n';
}

}  // namespace asio_infer
