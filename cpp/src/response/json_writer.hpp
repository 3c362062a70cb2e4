#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/escape.hpp"

namespace asio_infer {

/// Appends JSON to a string. Commas come by themselves; that opened brackets are closed is the caller's business.
class json_writer {
public:
    /// `out` must live as long as this; what it has already is left alone.
    explicit json_writer(std::string& out) noexcept : out_(out) {}

    json_writer& open(char bracket) {
        separate();
        out_ += bracket;
        return *this;
    }
    json_writer& close(char bracket) {
        out_ += bracket;
        return *this;
    }
    /// Precondition: the name needs no escape.
    json_writer& key(std::string_view name) {
        separate();
        ((out_ += '"') += name) += "\":";
        return *this;
    }
    /// A key that is not known to be harmless.
    json_writer& escaped_key(std::string_view name) {
        text(name);
        out_ += ':';
        return *this;
    }
    json_writer& text(std::string_view value) {
        separate();
        out_ += '"';
        append_escaped(out_, value, escape_style::json);
        out_ += '"';
        return *this;
    }
    template <std::integral T>
    json_writer& number(T value) {
        separate();
        char buffer[24];
        out_.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
        return *this;
    }
    json_writer& flag(bool value) {
        separate();
        out_ += value ? "true" : "false";
        return *this;
    }
    json_writer& numbers(std::span<const std::int64_t> values) {
        open('[');
        for (const std::int64_t value : values) number(value);
        return close(']');
    }

private:
    void separate() {
        if (out_.empty()) return;
        const char last = out_.back();
        if (last != '{' && last != '[' && last != ':') out_ += ',';
    }

    std::string& out_;
};

}  // namespace asio_infer
