#pragma once

#include <cstdint>
#include <string_view>

namespace asio_infer {

/// A JSON value as the array or object that holds it sees it come: a scalar, or the start of an array or object.
struct json_value {
    enum class kind : std::uint8_t { object, array, string, number, boolean, null };
    kind type;
    std::string_view text;  ///< of a string (unescaped) or a number (as written)
    bool truth = false;     ///< of a boolean
};

/// "an object", "a string": for messages.
constexpr std::string_view describe(json_value::kind type) noexcept {
    switch (type) {
        case json_value::kind::object:
            return "an object";
        case json_value::kind::array:
            return "an array";
        case json_value::kind::string:
            return "a string";
        case json_value::kind::number:
            return "a number";
        case json_value::kind::boolean:
            return "a boolean";
        case json_value::kind::null:
            break;
    }
    return "null";
}

}  // namespace asio_infer
