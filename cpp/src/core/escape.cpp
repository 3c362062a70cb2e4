#include "core/escape.hpp"

#include <cstdint>
#include <cstring>

namespace asio_infer {

namespace {

constexpr char hex_digits[] = "0123456789abcdef";

constexpr unsigned byte_at(std::string_view text, std::size_t at) noexcept {
    return static_cast<unsigned char>(text[at]);
}

/// The lengths and the bounds of the second byte from the Unicode standard, table 3-7.
struct lead_byte {
    std::size_t length;
    unsigned second_min;
    unsigned second_max;
};

constexpr lead_byte lead_of(unsigned byte) noexcept {
    if (byte < 0x80) return {1, 0, 0};
    if (byte < 0xc2) return {0, 0, 0};
    if (byte < 0xe0) return {2, 0x80, 0xbf};
    if (byte == 0xe0) return {3, 0xa0, 0xbf};
    if (byte == 0xed) return {3, 0x80, 0x9f};
    if (byte < 0xf0) return {3, 0x80, 0xbf};
    if (byte == 0xf0) return {4, 0x90, 0xbf};
    if (byte < 0xf4) return {4, 0x80, 0xbf};
    if (byte == 0xf4) return {4, 0x80, 0x8f};
    return {0, 0, 0};
}

/// Two- and three-byte characters that would change how the text around them is shown.
constexpr bool deceives(unsigned code_point) noexcept {
    return (code_point >= 0x80 && code_point < 0xa0) ||       // C1 controls
           (code_point >= 0x200e && code_point <= 0x200f) ||  // direction marks
           (code_point >= 0x2028 && code_point <= 0x202e) ||  // line separators, direction embedding
           (code_point >= 0x2066 && code_point <= 0x2069) ||  // direction isolates
           code_point == 0x061c || code_point == 0xfeff;
}

unsigned code_point_at(std::string_view text, std::size_t at, std::size_t length) noexcept {
    if (length == 2) return (byte_at(text, at) & 0x1fu) << 6 | (byte_at(text, at + 1) & 0x3fu);
    return (byte_at(text, at) & 0x0fu) << 12 | (byte_at(text, at + 1) & 0x3fu) << 6 | (byte_at(text, at + 2) & 0x3fu);
}

void append_code_point(std::string& out, unsigned code_point) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) out += hex_digits[code_point >> shift & 0xfu];
}

void append_control(std::string& out, unsigned byte) {
    switch (byte) {
        case '\n':
            out += "\\n";
            return;
        case '\r':
            out += "\\r";
            return;
        case '\t':
            out += "\\t";
            return;
        default:
            append_code_point(out, byte);
    }
}

void append_ascii(std::string& out, unsigned byte, escape_style style) {
    if (byte < 0x20 || byte == 0x7f) return append_control(out, byte);
    if (style != escape_style::message && (byte == '"' || byte == '\\')) out += '\\';
    out += static_cast<char>(byte);
}

void append_invalid(std::string& out, unsigned byte, escape_style style) {
    if (style == escape_style::json) {
        out += "\\ufffd";
        return;
    }
    out += "\\x";
    out += hex_digits[byte >> 4];
    out += hex_digits[byte & 0xfu];
}

bool eight_ascii(const char* at) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return (word & 0x8080808080808080u) == 0;
}

/// Where the run of bytes that need no escape in any style ends.
std::size_t plain_end(std::string_view text, std::size_t at) noexcept {
    while (at < text.size() && byte_at(text, at) >= 0x20 && byte_at(text, at) < 0x7f && text[at] != '"' &&
           text[at] != '\\') {
        ++at;
    }
    return at;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text, std::size_t at) noexcept {
    const lead_byte lead = lead_of(byte_at(text, at));
    if (lead.length < 2) return lead.length;
    if (text.size() - at < lead.length) return 0;
    const unsigned second = byte_at(text, at + 1);
    if (second < lead.second_min || second > lead.second_max) return 0;
    for (std::size_t i = 2; i < lead.length; ++i) {
        if ((byte_at(text, at + i) & 0xc0u) != 0x80u) return 0;
    }
    return lead.length;
}

bool is_utf8(std::string_view text) noexcept {
    for (std::size_t at = 0; at < text.size();) {
        if (text.size() - at >= 8 && eight_ascii(text.data() + at)) {
            at += 8;
            continue;
        }
        const std::size_t length = utf8_sequence_length(text, at);
        if (length == 0) return false;
        at += length;
    }
    return true;
}

void append_escaped(std::string& out, std::string_view text, escape_style style) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = plain_end(text, at);
        out.append(text, at, end - at);
        if (end == text.size()) return;
        at = end;
        const std::size_t length = utf8_sequence_length(text, at);
        if (length == 0) {
            append_invalid(out, byte_at(text, at), style);
        } else if (length == 1) {
            append_ascii(out, byte_at(text, at), style);
        } else if (length < 4 && deceives(code_point_at(text, at, length))) {
            append_code_point(out, code_point_at(text, at, length));
        } else {
            out.append(text, at, length);
        }
        at += length == 0 ? 1 : length;
    }
}

std::string printable(std::string_view text, std::size_t max_bytes) {
    std::size_t kept = text.size();
    if (kept > max_bytes) {
        kept = max_bytes;
        // Back to the start of the character that the limit cuts; a longer run of such bytes is not UTF-8 anyway.
        for (int i = 0; i < 3 && kept > 0 && (byte_at(text, kept) & 0xc0u) == 0x80u; ++i) --kept;
    }
    std::string out;
    append_escaped(out, text.substr(0, kept), escape_style::message);
    if (kept < text.size()) out += "...";
    return out;
}

}  // namespace asio_infer
