#ifdef __linux__

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <vector>

#include "metrics/process_info.hpp"

namespace asio_infer {

namespace {

/// As much of a file in /proc as fits; empty if it cannot be read.
std::string_view read_file(const char* path, std::span<char> memory) noexcept {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {};
    std::size_t size = 0;
    while (size < memory.size()) {
        const ssize_t n = ::read(fd, memory.data() + size, memory.size() - size);
        if (n <= 0) break;
        size += static_cast<std::size_t>(n);
    }
    ::close(fd);
    return {memory.data(), size};
}

/// The clock reading at boot is a line "btime N" near the end of /proc/stat, whose "intr" line may be long.
double read_boot_time() {
    std::vector<char> memory(65'536);
    const std::string_view text = read_file("/proc/stat", memory);
    constexpr std::string_view label = "\nbtime ";
    const std::size_t at = text.find(label);
    if (at == std::string_view::npos) return 0;
    std::uint64_t seconds = 0;
    std::from_chars(text.data() + at + label.size(), text.data() + text.size(), seconds);
    return static_cast<double>(seconds);
}

proc_units read_units() {
    return {static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)), static_cast<double>(::sysconf(_SC_CLK_TCK)),
            read_boot_time()};
}

std::optional<std::uint64_t> count_by_listing() noexcept {
    DIR* const folder = ::opendir("/proc/self/fd");
    if (folder == nullptr) return std::nullopt;
    std::uint64_t entries = 0;
    while (::readdir(folder) != nullptr) ++entries;
    ::closedir(folder);
    // ".", ".." and the descriptor of the listing itself.
    return entries >= 3 ? entries - 3 : 0;
}

/// Since Linux 6.2 the size of the folder is the number of descriptors; before, it is 0.
std::optional<std::uint64_t> count_open_descriptors() noexcept {
    struct stat folder{};
    if (::stat("/proc/self/fd", &folder) == 0 && folder.st_size > 0) return static_cast<std::uint64_t>(folder.st_size);
    return count_by_listing();
}

std::optional<std::uint64_t> read_max_descriptors() noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
    return limit.rlim_cur;
}

}  // namespace

process_info read_process_info() noexcept {
    static const proc_units units = read_units();
    std::array<char, 2'048> memory;
    process_info info = parse_proc_stat(read_file("/proc/self/stat", memory), units);
    info.open_descriptors = count_open_descriptors();
    info.max_descriptors = read_max_descriptors();
    return info;
}

}  // namespace asio_infer

#endif
