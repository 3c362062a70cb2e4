#include "core/cpu_count.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace asio_infer {
namespace cgroup {
namespace {

/// The next word of `text`, which moves on behind it.
std::string_view next_word(std::string_view& text) {
    constexpr std::string_view blanks = " \t\n";
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(blanks));
    text.remove_prefix(word.size());
    return word;
}

template <class Integer>
std::optional<Integer> to_integer(std::string_view word) {
    Integer value{};
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failure != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    return value;
}

std::optional<double> quota_in_cpus(std::string_view quota, std::string_view period) {
    const auto q = to_integer<std::int64_t>(quota);
    const auto p = to_integer<std::int64_t>(period);
    if (!q || !p || *q <= 0 || *p <= 0) return std::nullopt;
    return static_cast<double>(*q) / static_cast<double>(*p);
}

template <class T>
void keep_smaller(std::optional<T>& least, const std::optional<T>& value) {
    if (value && (!least || *value < *least)) least = value;
}

/// Calls `visit` with the folder of the group and of each of its parents below `mount`. In a container the group's
/// path may be the host's, which does not exist here: the root, which always does, comes last.
template <class Visit>
void for_each_level(const std::string& mount, std::string group, Visit visit) {
    while (group.size() > 1) {
        visit(mount + group);
        group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
    visit(mount);
}

std::optional<double> quota_of_folder_v1(const file_reader& read, const std::string& folder) {
    const auto quota = read(folder + "/cpu.cfs_quota_us");
    const auto period = read(folder + "/cpu.cfs_period_us");
    return quota && period ? parse_cfs(*quota, *period) : std::nullopt;
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) {
    const std::string_view quota = next_word(text);
    const std::string_view period = next_word(text);
    return quota_in_cpus(quota, period);
}

std::optional<double> parse_cfs(std::string_view quota, std::string_view period) {
    return quota_in_cpus(next_word(quota), next_word(period));
}

std::optional<std::size_t> parse_memory_limit(std::string_view text) {
    constexpr std::uint64_t unlimited = std::uint64_t{1} << 60;
    const auto bytes = to_integer<std::uint64_t>(next_word(text));
    if (!bytes || *bytes >= unlimited) return std::nullopt;
    return static_cast<std::size_t>(*bytes);
}

std::optional<std::string> parse_group(std::string_view proc_self_cgroup, std::string_view controller) {
    while (!proc_self_cgroup.empty()) {
        std::string_view line = proc_self_cgroup.substr(0, proc_self_cgroup.find('\n'));
        proc_self_cgroup.remove_prefix(std::min(line.size() + 1, proc_self_cgroup.size()));
        // "4:cpu,cpuacct:/docker/1f" or, for version 2, "0::/user.slice"
        const std::size_t first = line.find(':');
        const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
        if (second == line.npos) continue;
        std::string_view names = line.substr(first + 1, second - first - 1);
        bool found = names == controller;
        while (!found && !names.empty()) {
            const std::string_view name = names.substr(0, names.find(','));
            found = name == controller;
            names.remove_prefix(std::min(name.size() + 1, names.size()));
        }
        if (found) return std::string(line.substr(second + 1));
    }
    return std::nullopt;
}

std::optional<double> cpu_quota(const file_reader& read) {
    std::optional<double> least;
    const auto groups = read("/proc/self/cgroup");
    if (!groups) return least;
    if (const auto group = parse_group(*groups, ""))
        for_each_level("/sys/fs/cgroup", *group, [&](const std::string& folder) {
            if (const auto text = read(folder + "/cpu.max")) keep_smaller(least, parse_cpu_max(*text));
        });
    if (const auto group = parse_group(*groups, "cpu"))
        for_each_level("/sys/fs/cgroup/cpu", *group,
                       [&](const std::string& folder) { keep_smaller(least, quota_of_folder_v1(read, folder)); });
    return least;
}

std::optional<std::size_t> memory_limit(const file_reader& read) {
    std::optional<std::size_t> least;
    const auto groups = read("/proc/self/cgroup");
    if (!groups) return least;
    const auto visit_file = [&](const char* name) {
        return [&least, &read, name](const std::string& folder) {
            if (const auto text = read(folder + name)) keep_smaller(least, parse_memory_limit(*text));
        };
    };
    if (const auto group = parse_group(*groups, ""))
        for_each_level("/sys/fs/cgroup", *group, visit_file("/memory.max"));
    if (const auto group = parse_group(*groups, "memory"))
        for_each_level("/sys/fs/cgroup/memory", *group, visit_file("/memory.limit_in_bytes"));
    return least;
}

}  // namespace cgroup

unsigned cores_within(unsigned affinity, std::optional<double> quota) noexcept {
    const unsigned cores = std::max(affinity, 1U);
    if (!quota || *quota >= cores) return cores;
    return std::max(static_cast<unsigned>(std::ceil(*quota)), 1U);
}

}  // namespace asio_infer
