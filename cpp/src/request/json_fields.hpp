#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace asio_infer {

/// The keys of a request's objects that mean something. `dims` is "shape".
enum class json_field : std::uint8_t { unknown, id, parameters, inputs, outputs, name, dims, datatype, data };

constexpr std::string_view name(json_field field) noexcept {
    constexpr std::string_view names[]{"",     "id",    "parameters", "inputs", "outputs",
                                       "name", "shape", "datatype",   "data"};
    return names[static_cast<std::size_t>(field)];
}

constexpr json_field request_field(std::string_view key) noexcept {
    if (key == "inputs") return json_field::inputs;
    if (key == "outputs") return json_field::outputs;
    if (key == "id") return json_field::id;
    if (key == "parameters") return json_field::parameters;
    return json_field::unknown;
}
constexpr json_field input_field(std::string_view key) noexcept {
    if (key == "name") return json_field::name;
    if (key == "shape") return json_field::dims;
    if (key == "datatype") return json_field::datatype;
    if (key == "data") return json_field::data;
    if (key == "parameters") return json_field::parameters;
    return json_field::unknown;
}
constexpr json_field output_field(std::string_view key) noexcept {
    if (key == "name") return json_field::name;
    if (key == "parameters") return json_field::parameters;
    return json_field::unknown;
}

/// The keys that one object has had so far, to find one that repeats.
class seen_keys {
public:
    void clear() noexcept {
        fields_ = 0;
        unknown_.clear();
    }
    /// False if it repeats.
    bool add(json_field field, std::string_view key) {
        if (field == json_field::unknown) return add_unknown(key);
        const auto bit = 1U << static_cast<unsigned>(field);
        if ((fields_ & bit) != 0) return false;
        fields_ |= bit;
        return true;
    }
    bool has(json_field field) const noexcept { return (fields_ >> static_cast<unsigned>(field) & 1) != 0; }
    /// Keys without a meaning; they are searched one by one, so their number needs a limit.
    std::size_t unknown_count() const noexcept { return unknown_.size(); }

private:
    bool add_unknown(std::string_view key) {
        for (const std::string& other : unknown_)
            if (other == key) return false;
        unknown_.emplace_back(key);
        return true;
    }

    unsigned fields_ = 0;
    std::vector<std::string> unknown_;
};

}  // namespace asio_infer
