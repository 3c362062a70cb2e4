#include "runtime/log_format.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <string_view>
#include <variant>

#include "core/escape.hpp"

namespace asio_infer {

namespace {

struct level_text {
    std::string_view name;    ///< in JSON
    std::string_view column;  ///< in text, of one width
    std::string_view colour;
};

constexpr level_text text_of(log_level level) noexcept {
    if (level >= log_level::error) return {"error", "ERROR", "\x1b[31m"};
    if (level >= log_level::warning) return {"warning", "WARN ", "\x1b[33m"};
    if (level >= log_level::info) return {"info", "INFO ", "\x1b[32m"};
    return {"debug", "DEBUG", "\x1b[90m"};
}

constexpr std::string_view colour_end = "\x1b[0m";

/// `width` digits of a number that is not negative, with leading zeros.
void append_padded(std::string& out, std::int64_t value, int width) {
    std::array<char, 20> digits;
    for (int i = width - 1; i >= 0; --i, value /= 10) {
        digits[static_cast<std::size_t>(i)] = static_cast<char>('0' + value % 10);
    }
    out.append(digits.data(), static_cast<std::size_t>(width));
}

template <class Number>
void append_number(std::string& out, Number value) {
    std::array<char, 32> memory;
    const auto [end, failed] = std::to_chars(memory.data(), memory.data() + memory.size(), value);
    out.append(memory.data(), end);
}

void append_quoted(std::string& out, std::string_view text, escape_style style) {
    out += '"';
    append_escaped(out, text, style);
    out += '"';
}

/// Whether a value reads unmistakably without quotes.
bool is_bare(std::string_view text) noexcept {
    if (text.empty()) return false;
    for (const char c : text) {
        if (c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '=') return false;
    }
    return true;
}

struct append_value {
    std::string& out;
    log_format format;

    void operator()(std::string_view text) const {
        if (format == log_format::json) return append_quoted(out, text, escape_style::json);
        if (is_bare(text)) {
            out += text;
        } else {
            append_quoted(out, text, escape_style::quoted);
        }
    }
    void operator()(bool value) const { out += value ? "true" : "false"; }
    void operator()(std::integral auto value) const { append_number(out, value); }
    /// To three decimals: what is logged are times and sizes. JSON knows no infinity.
    void operator()(double value) const {
        if (std::isfinite(value) && std::fabs(value) < 1e12) value = std::round(value * 1e3) / 1e3;
        if (!std::isfinite(value) && format == log_format::json) {
            out += "null";
        } else {
            append_number(out, value);
        }
    }
};

void append_text(std::string& out, const log_record& record, bool colours) {
    const level_text level = text_of(record.level);
    append_time(out, record.when);
    out += ' ';
    if (colours) out += level.colour;
    out += level.column;
    if (colours) out += colour_end;
    out += ' ';
    append_escaped(out, record.message, escape_style::message);
    for (const auto& [name, value] : record.fields) {
        out += ' ';
        append_escaped(out, name, escape_style::quoted);
        out += '=';
        std::visit(append_value{out, log_format::text}, value);
    }
}

void append_json(std::string& out, const log_record& record) {
    out += "{\"time\":\"";
    append_time(out, record.when);
    out.append("\",\"level\":\"").append(text_of(record.level).name).append("\",\"message\":");
    append_quoted(out, record.message, escape_style::json);
    for (const auto& [name, value] : record.fields) {
        out += ',';
        append_quoted(out, name, escape_style::json);
        out += ':';
        std::visit(append_value{out, log_format::json}, value);
    }
    out += '}';
}

}  // namespace

void append_time(std::string& out, wall_time when) {
    using namespace std::chrono;
    const auto milliseconds_since_1970 = floor<milliseconds>(when);
    const auto day = floor<days>(milliseconds_since_1970);
    const year_month_day date(day);
    const hh_mm_ss time(milliseconds_since_1970 - day);
    append_padded(out, int{date.year()}, 4);
    out += '-';
    append_padded(out, unsigned{date.month()}, 2);
    out += '-';
    append_padded(out, unsigned{date.day()}, 2);
    out += 'T';
    append_padded(out, time.hours().count(), 2);
    out += ':';
    append_padded(out, time.minutes().count(), 2);
    out += ':';
    append_padded(out, time.seconds().count(), 2);
    out += '.';
    append_padded(out, time.subseconds().count(), 3);
    out += 'Z';
}

void append_log_line(std::string& out, const log_record& record, log_format format, bool colours) {
    if (format == log_format::json) {
        append_json(out, record);
    } else {
        append_text(out, record, colours);
    }
    out += '\n';
}

}  // namespace asio_infer
