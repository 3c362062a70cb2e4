#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace asio_infer {

/// The length of the well-formed UTF-8 sequence at text[at]; 0 if there is none (truncated, overlong, a surrogate or
/// beyond U+10FFFF). Precondition: at < text.size().
std::size_t utf8_sequence_length(std::string_view text, std::size_t at) noexcept;
bool is_utf8(std::string_view text) noexcept;

/// How text that came from outside is made harmless. Every style keeps well-formed UTF-8 and escapes control
/// characters (C1 included, which drive terminals), line separators and the marks that reverse the direction of text.
enum class escape_style {
    json,     ///< the inside of a JSON string; bytes that are not UTF-8 become U+FFFD
    quoted,   ///< the inside of a quoted value in a log line; bytes that are not UTF-8 become \xNN
    message,  ///< as `quoted`, with quotes and backslashes left as they are: for error messages
};

/// Appends `text` in that style. Throws std::bad_alloc.
void append_escaped(std::string& out, std::string_view text, escape_style style);

/// At most `max_bytes` of `text`, whole characters, in the style `message`; "..." marks what was left out.
std::string printable(std::string_view text, std::size_t max_bytes = 200);

}  // namespace asio_infer
