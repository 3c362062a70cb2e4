#include "request/json_request.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <string>

#include "request/json_reader.hpp"

namespace asio_infer {
namespace {

namespace json = boost::json;
using boost::system::error_code;
using text_view = json::string_view;

/// Passes Boost.JSON's events on, with strings whole.
class event_handler {
public:
    static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);

    explicit event_handler(json_reader& reader) noexcept : reader_(reader) {}

    bool on_document_begin(error_code&) noexcept { return true; }
    bool on_document_end(error_code&) noexcept { return true; }
    bool on_array_begin(error_code& ec) { return value({json_value::kind::array, {}}, ec); }
    bool on_array_end(std::size_t, error_code& ec) { return pass(reader_.close(), ec); }
    bool on_object_begin(error_code& ec) { return value({json_value::kind::object, {}}, ec); }
    bool on_object_end(std::size_t, error_code& ec) { return pass(reader_.close(), ec); }
    bool on_string_part(text_view s, std::size_t, error_code&) { return add_part(s); }
    bool on_string(text_view s, std::size_t n, error_code& ec) {
        const bool good = value({json_value::kind::string, whole(s, n)}, ec);
        parts_.clear();
        return good;
    }
    bool on_key_part(text_view s, std::size_t, error_code&) { return add_part(s); }
    bool on_key(text_view s, std::size_t n, error_code& ec) {
        const bool good = pass(reader_.key(whole(s, n)), ec);
        parts_.clear();
        return good;
    }
    // The whole document is in memory, so a number comes in one part; only its text counts.
    bool on_number_part(text_view, error_code&) noexcept { return true; }
    bool on_int64(std::int64_t, text_view s, error_code& ec) { return number(s, ec); }
    bool on_uint64(std::uint64_t, text_view s, error_code& ec) { return number(s, ec); }
    bool on_double(double, text_view s, error_code& ec) { return number(s, ec); }
    bool on_bool(bool truth, error_code& ec) { return value({json_value::kind::boolean, {}, truth}, ec); }
    bool on_null(error_code& ec) { return value({json_value::kind::null, {}}, ec); }
    bool on_comment_part(text_view, error_code&) noexcept { return true; }
    bool on_comment(text_view, error_code&) noexcept { return true; }

private:
    static bool pass(bool good, error_code& ec) {
        if (!good) ec = make_error_code(json::error::extra_data);  // which one does not matter: the reader knows
        return good;
    }
    bool value(const json_value& v, error_code& ec) { return pass(reader_.value(v), ec); }
    bool number(text_view s, error_code& ec) { return value({json_value::kind::number, s}, ec); }
    bool add_part(text_view s) {
        parts_.append(s.data(), s.size());
        return true;
    }
    /// The string of n bytes that ends with `last`.
    std::string_view whole(text_view last, std::size_t n) {
        if (last.size() == n) return last;
        parts_.append(last.data(), last.size());
        return parts_;
    }

    json_reader& reader_;
    std::string parts_;  // of a string with escapes, so far
};

error malformed(const json_reader& reader, const error_code& ec, const limits& bounds) {
    std::string text = reader.path();
    if (!text.empty()) text += ": ";
    if (ec == json::error::too_deep)
        text += "nested deeper than " + std::to_string(bounds.max_json_depth) + " levels";
    else
        text += "malformed JSON (" + ec.message() + ')';
    return {errc::invalid_request, std::move(text)};
}

}  // namespace

result<json_request> read_json_request(std::string_view text, const limits& bounds) {
    if (text.empty()) return error{errc::invalid_request, "the request has no JSON: it is empty"};
    if (text.starts_with("\xef\xbb\xbf"))
        return error{errc::invalid_request, "the JSON starts with a byte order mark; send plain UTF-8"};
    json::parse_options options;
    options.max_depth = bounds.max_json_depth;
    options.numbers = json::number_precision::none;
    json_reader reader(bounds);
    json::basic_parser<event_handler> parser(options, reader);
    error_code ec;
    const std::size_t used = parser.write_some(false, text.data(), text.size(), ec);
    if (!reader.fault().empty()) return error{errc::invalid_request, reader.fault()};
    if (ec) return malformed(reader, ec, bounds);
    if (used < text.size())
        return error{errc::invalid_request,
                     std::to_string(text.size() - used) +
                         " bytes follow the end of the JSON (a binary request gives "
                         "the length of its JSON in the header Inference-Header-Content-Length)"};
    return std::move(reader).take();
}

}  // namespace asio_infer
