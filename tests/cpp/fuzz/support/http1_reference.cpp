#include "fuzz/support/http1_reference.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

// Written apart from the server's own parser and guard, of which it uses nothing.
namespace asio_infer::fuzz {
namespace {

using ending = http1_reading::ending;

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_token(std::string_view text) {
    constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               others.find(c) != others.npos;
    });
}

/// All of the text as a number of this base; nothing if it is none or too large.
std::optional<std::size_t> number(std::string_view text, int base) {
    std::size_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// Takes the bytes up to the next CRLF, and it, off `rest`; nothing if there is none.
std::optional<std::string_view> take_line(std::string_view& rest) {
    const std::size_t end = rest.find("\r\n");
    if (end == rest.npos) return std::nullopt;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    return line;
}

struct plain_head {
    std::string method;
    std::string target;
    bool version_1_0 = false;
    std::vector<std::string> lengths;
    std::vector<std::string> codings;
    std::vector<std::string> expectations;
    std::vector<std::string> connections;
    std::size_t hosts = 0;
    bool folded = false;
    bool bad_name = false;
};

/// Nothing if the line is not "METHOD target HTTP/1.0" or "... 1.1".
std::optional<plain_head> read_start(std::string_view line) {
    const std::size_t first = line.find(' ');
    const std::size_t second = line.rfind(' ');
    if (first == line.npos || first == second) return std::nullopt;
    const std::string_view version = line.substr(second + 1);
    if (version != "HTTP/1.0" && version != "HTTP/1.1") return std::nullopt;
    plain_head head;
    head.method = line.substr(0, first);
    head.target = line.substr(first + 1, second - first - 1);
    head.version_1_0 = version == "HTTP/1.0";
    return head;
}

void read_field(std::string_view line, plain_head& head) {
    if (line.front() == ' ' || line.front() == '\t') head.folded = true;
    const std::size_t colon = std::min(line.find(':'), line.size());
    if (!is_token(line.substr(0, colon))) head.bad_name = true;
    if (colon == line.size()) return;
    const std::string name = lower(line.substr(0, colon));
    const std::string value = lower(trimmed(line.substr(colon + 1)));
    if (name == "content-length") head.lengths.push_back(value);
    if (name == "transfer-encoding") head.codings.push_back(value);
    if (name == "expect") head.expectations.push_back(value);
    if (name == "connection") head.connections.push_back(value);
    if (name == "host") ++head.hosts;
}

std::optional<plain_head> read_head(std::string_view& rest) {
    const std::string_view whole = rest;
    const auto start = take_line(rest);
    std::optional<plain_head> head = start ? read_start(*start) : std::nullopt;
    while (head) {
        const auto line = take_line(rest);
        if (!line) return std::nullopt;
        if (line->empty()) break;
        read_field(*line, *head);
    }
    // A line feed or a carriage return of its own may or may not be the end of a line.
    std::string_view read = whole.substr(0, whole.size() - rest.size());
    while (const auto line = take_line(read))
        if (line->find_first_of("\r\n") != line->npos) return std::nullopt;
    return head;
}

bool must_be_refused(const plain_head& head, const limits& bounds) {
    if (head.folded || head.bad_name) return true;
    if (head.hosts > 1 || (head.hosts == 0 && !head.version_1_0)) return true;
    if (head.lengths.size() + head.codings.size() > 1) return true;
    if (!head.codings.empty() && (head.version_1_0 || head.codings.front() != "chunked")) return true;
    if (!head.expectations.empty() && (head.expectations.size() > 1 || head.expectations.front() != "100-continue"))
        return true;
    if (head.lengths.empty()) return false;
    const auto length = number(head.lengths.front(), 10);
    return !length || *length > bounds.max_body_bytes;
}

/// Chunks without extensions and trailers; nothing if there is anything else.
std::optional<std::string> read_chunks(std::string_view& rest) {
    std::string body;
    for (;;) {
        const auto line = take_line(rest);
        const auto size = line ? number(*line, 16) : std::nullopt;
        if (!size || *size > rest.size()) return std::nullopt;
        body += rest.substr(0, *size);
        rest.remove_prefix(*size);
        if (!rest.starts_with("\r\n")) return std::nullopt;
        rest.remove_prefix(2);
        if (*size == 0) return body;
    }
}

std::optional<std::string> read_body(const plain_head& head, std::string_view& rest) {
    if (!head.codings.empty()) return read_chunks(rest);
    const std::size_t size = head.lengths.empty() ? 0 : number(head.lengths.front(), 10).value_or(0);
    if (size > rest.size()) return std::nullopt;
    const std::string_view body = rest.substr(0, size);
    rest.remove_prefix(size);
    return std::string(body);
}

/// Whether the connection goes on behind this request; nothing if that takes more than one plain word to say.
std::optional<bool> keeps_alive(const plain_head& head) {
    if (head.connections.empty()) return !head.version_1_0;
    if (head.connections.size() > 1) return std::nullopt;
    if (head.connections.front() == "close") return false;
    if (head.connections.front() == "keep-alive") return true;
    return std::nullopt;
}

}  // namespace

http1_reading read_plainly(std::string_view stream, const limits& bounds) {
    http1_reading reading;
    for (;;) {
        while (stream.starts_with("\r\n")) stream.remove_prefix(2);
        const std::optional<plain_head> head = read_head(stream);
        if (!head) return reading;
        if (must_be_refused(*head, bounds)) {
            reading.end = ending::refused;
            return reading;
        }
        std::optional<std::string> body = read_body(*head, stream);
        if (!body) return reading;
        reading.requests.push_back({head->method, head->target, std::move(*body)});
        const std::optional<bool> goes_on = keeps_alive(*head);
        if (goes_on == true) continue;
        if (goes_on == false) reading.end = ending::closed;
        return reading;
    }
}

}  // namespace asio_infer::fuzz
