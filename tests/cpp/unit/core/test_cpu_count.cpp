#include <doctest/doctest.h>

#include <map>
#include <string>

#include "core/cpu_count.hpp"

using namespace asio_infer;

namespace {

using files = std::map<std::string, std::string>;

cgroup::file_reader reader_of(const files& content) {
    return [&content](const std::string& path) -> std::optional<std::string> {
        const auto at = content.find(path);
        return at == content.end() ? std::nullopt : std::optional(at->second);
    };
}

}  // namespace

TEST_CASE("cpu.max of cgroup version 2") {
    CHECK(cgroup::parse_cpu_max("150000 100000\n") == 1.5);
    CHECK(cgroup::parse_cpu_max("50000 100000\n") == 0.5);
    CHECK_FALSE(cgroup::parse_cpu_max("max 100000\n"));
    CHECK_FALSE(cgroup::parse_cpu_max(""));
    CHECK_FALSE(cgroup::parse_cpu_max("150000"));
    CHECK_FALSE(cgroup::parse_cpu_max("150000 0"));
    CHECK_FALSE(cgroup::parse_cpu_max("150000x 100000"));
    CHECK_FALSE(cgroup::parse_cpu_max("99999999999999999999 100000"));
}

TEST_CASE("quota and period of cgroup version 1") {
    CHECK(cgroup::parse_cfs("200000\n", "100000\n") == 2.0);
    CHECK_FALSE(cgroup::parse_cfs("-1\n", "100000\n"));
    CHECK_FALSE(cgroup::parse_cfs("", ""));
}

TEST_CASE("memory limits") {
    CHECK(cgroup::parse_memory_limit("536870912\n") == 536'870'912);
    CHECK_FALSE(cgroup::parse_memory_limit("max\n"));
    CHECK_FALSE(cgroup::parse_memory_limit("9223372036854771712\n"));
    CHECK_FALSE(cgroup::parse_memory_limit("-1"));
    CHECK_FALSE(cgroup::parse_memory_limit(""));
}

TEST_CASE("the group of a controller") {
    const std::string text = "12:cpuset:/a\n4:cpu,cpuacct:/docker/1f\n3:memory:/docker/1f\n0::/user.slice/b:c\n";
    CHECK(cgroup::parse_group(text, "cpu") == "/docker/1f");
    CHECK(cgroup::parse_group(text, "cpuacct") == "/docker/1f");
    CHECK(cgroup::parse_group(text, "memory") == "/docker/1f");
    CHECK(cgroup::parse_group(text, "") == "/user.slice/b:c");
    CHECK_FALSE(cgroup::parse_group(text, "pids"));
    CHECK_FALSE(cgroup::parse_group("garbage\n:\n", "cpu"));
}

TEST_CASE("the tightest quota on the way to the root counts") {
    const files v2{{"/proc/self/cgroup", "0::/a/b\n"},
                   {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
                   {"/sys/fs/cgroup/a/cpu.max", "150000 100000\n"},
                   {"/sys/fs/cgroup/cpu.max", "400000 100000\n"},
                   {"/sys/fs/cgroup/a/b/memory.max", "2000\n"},
                   {"/sys/fs/cgroup/a/memory.max", "1000\n"}};
    CHECK(cgroup::cpu_quota(reader_of(v2)) == 1.5);
    CHECK(cgroup::memory_limit(reader_of(v2)) == 1000);
}

TEST_CASE("a container whose group path is the host's finds its limits at the mount") {
    const files v1{{"/proc/self/cgroup", "4:cpu,cpuacct:/docker/1f\n3:memory:/docker/1f\n"},
                   {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n"},
                   {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
                   {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n"}};
    CHECK(cgroup::cpu_quota(reader_of(v1)) == 2.5);
    CHECK(cgroup::memory_limit(reader_of(v1)) == 4096);
}

TEST_CASE("no control groups, no limit") {
    const files none;
    CHECK_FALSE(cgroup::cpu_quota(reader_of(none)));
    CHECK_FALSE(cgroup::memory_limit(reader_of(none)));
}

TEST_CASE("cores under a quota") {
    CHECK(cores_within(8, std::nullopt) == 8);
    CHECK(cores_within(8, 1.5) == 2);
    CHECK(cores_within(8, 0.1) == 1);
    CHECK(cores_within(2, 16.0) == 2);
    CHECK(cores_within(0, std::nullopt) == 1);
}

TEST_CASE("this process has a core and some memory") {
    CHECK(usable_cores() >= 1);
    CHECK(usable_memory() > (std::size_t{16} << 20));
}
