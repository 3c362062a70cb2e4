#include "response/json_tensor.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/bytes_elements.hpp"
#include "core/escape.hpp"
#include "response/element_text.hpp"

namespace asio_infer {
namespace {

/// Collects short pieces and appends them to a string many at a time.
class chunk {
public:
    explicit chunk(std::string& out) noexcept : out_(out) {}
    /// Where the next element and its comma can be written.
    char* at() {
        if (end_ > buffer_ + sizeof buffer_ - (max_element_text + 1)) flush();
        return end_;
    }
    void written(char* end) noexcept { end_ = end; }
    void flush() {
        out_.append(buffer_, end_);
        end_ = buffer_;
    }

private:
    std::string& out_;
    char buffer_[1024];
    char* end_ = buffer_;
};

template <class Element>
std::string append_elements(std::string& out, std::span<const std::byte> data) {
    chunk pending(out);
    const std::size_t count = data.size() / sizeof(typename Element::stored);
    for (std::size_t i = 0; i < count; ++i) {
        const Element element(data.data() + i * sizeof(typename Element::stored));
        if (!element.finite()) {
            char text[max_element_text];
            return "element " + std::to_string(i) + " is " + std::string(text, element.print(text));
        }
        char* at = pending.at();
        if (i > 0) *at++ = ',';
        pending.written(element.print(at));
    }
    pending.flush();
    return "";
}

std::string append_booleans(std::string& out, std::span<const std::byte> data) {
    for (std::size_t i = 0; i < data.size(); ++i) {
        if (i > 0) out += ',';
        out += data[i] != std::byte{0} ? "true" : "false";
    }
    return "";
}

std::string append_strings(std::string& out, std::span<const std::byte> data) {
    bytes_elements elements(data);
    std::size_t index = 0;
    while (const std::optional<std::string_view> element = elements.next()) {
        if (!is_utf8(*element)) return "element " + std::to_string(index) + " is not UTF-8";
        if (index++ > 0) out += ',';
        out += '"';
        append_escaped(out, *element, escape_style::json);
        out += '"';
    }
    return "";
}

}  // namespace

std::string append_json_data(std::string& out, const tensor& value) {
    const std::span<const std::byte> data = value.data.bytes();
    out += '[';
    std::string fault;
    if (value.type == dtype::boolean)
        fault = append_booleans(out, data);
    else if (value.type == dtype::bytes)
        fault = append_strings(out, data);
    else
        fault = visit_number(
            value.type, [&](auto element) { return append_elements<typename decltype(element)::type>(out, data); });
    out += ']';
    return fault;
}

}  // namespace asio_infer
