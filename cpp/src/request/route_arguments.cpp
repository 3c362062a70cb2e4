#include "request/route_arguments.hpp"

#include <charconv>

#include "core/escape.hpp"

namespace asio_infer {

namespace {

constexpr std::size_t longest_model_name = 256;

bool is_name_character(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 && byte != 0x7f && c != '/' && c != '\\';
}

error no_such_model(std::string_view name) { return {errc::not_found, "there is no model '" + printable(name) + "'"}; }

error no_such_version(std::string_view model, std::string_view version) {
    return {errc::not_found, "model '" + printable(model) + "' has no version '" + printable(version) +
                                 "': versions are whole numbers from 1"};
}

}  // namespace

bool is_model_name(std::string_view name) noexcept {
    if (name.empty() || name.size() > longest_model_name || name == "." || name == "..") return false;
    for (const char c : name) {
        if (!is_name_character(c)) return false;
    }
    return is_utf8(name);
}

std::optional<std::int64_t> parse_version(std::string_view text) noexcept {
    if (text.empty() || text.front() < '1' || text.front() > '9') return std::nullopt;
    std::int64_t version = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), version);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return version;
}

result<route_arguments> arguments_of(std::string_view model, std::string_view version) {
    if (model.empty()) return error{errc::invalid_request, "the message names no model"};
    if (!is_model_name(model)) return no_such_model(model);
    route_arguments arguments{.model = model, .region = {}, .version = std::nullopt};
    if (version.empty()) return arguments;
    arguments.version = parse_version(version);
    if (!arguments.version) return no_such_version(model, version);
    return arguments;
}

result<route_arguments> arguments_of(const route& found, const request_path& path) {
    route_arguments arguments;
    for (std::size_t i = 0; i < found.size; ++i) {
        if (found.segments[i] == model_placeholder) {
            if (!is_model_name(path[i])) {
                return no_such_model(path[i]);
            }
            arguments.model = path[i];
        } else if (found.segments[i] == region_placeholder) {
            arguments.region = path[i];
        } else if (found.segments[i] == version_placeholder) {
            arguments.version = parse_version(path[i]);
            if (!arguments.version) {
                return no_such_version(arguments.model, path[i]);
            }
        }
    }
    return arguments;
}

}  // namespace asio_infer
