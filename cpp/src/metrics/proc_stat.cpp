#include <array>
#include <charconv>
#include <cstddef>

#include "metrics/process_info.hpp"

namespace asio_infer {

namespace {

/// Positions behind the command's name, from proc_pid_stat(5): field 3 of the page is 0 here.
enum field : std::size_t { utime = 11, stime = 12, num_threads = 17, starttime = 19, vsize = 20, rss = 21 };
constexpr std::size_t fields_needed = 22;

/// The fields behind the name; a field that is no unsigned number is 0. Empty if there are too few.
std::optional<std::array<std::uint64_t, fields_needed>> split(std::string_view text) noexcept {
    std::array<std::uint64_t, fields_needed> values{};
    for (std::uint64_t& value : values) {
        const std::size_t begin = text.find_first_not_of(" \n");
        if (begin == std::string_view::npos) return std::nullopt;
        text.remove_prefix(begin);
        const std::size_t end = text.find_first_of(" \n");
        const std::string_view word = text.substr(0, end);
        std::from_chars(word.data(), word.data() + word.size(), value);
        text.remove_prefix(word.size());
    }
    return values;
}

}  // namespace

process_info parse_proc_stat(std::string_view text, const proc_units& units) noexcept {
    // The name is in parentheses and may contain any character, a parenthesis included.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string_view::npos) return {};
    const auto fields = split(text.substr(name_end + 1));
    if (!fields) return {};
    const auto seconds = [&](std::uint64_t ticks) { return static_cast<double>(ticks) / units.ticks_per_second; };
    process_info info;
    info.resident_bytes = (*fields)[rss] * units.page_bytes;
    info.virtual_bytes = (*fields)[vsize];
    info.threads = (*fields)[num_threads];
    info.cpu_seconds = seconds((*fields)[utime] + (*fields)[stime]);
    if (units.boot_time_seconds > 0) info.start_time_seconds = units.boot_time_seconds + seconds((*fields)[starttime]);
    return info;
}

}  // namespace asio_infer
