#include "metrics/process_info.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace asio_infer;

namespace {

const std::string behind_name =
    " S 1 2 3 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 7 0 1200 1048576 33 18446744073709551615 1 1 0\n";

}  // namespace

TEST_CASE("/proc/self/stat is read by position, behind a name of any kind") {
    for (const std::string name : {"python3", "a b", "a) S 9 (", ""}) {
        CAPTURE(name);
        const process_info info = parse_proc_stat("42 (" + name + ")" + behind_name, {4'096, 100, 1'000});
        CHECK(info.cpu_seconds == 3.0);
        CHECK(info.threads == 7);
        CHECK(info.virtual_bytes == 1'048'576);
        CHECK(info.resident_bytes == 33 * 4'096);
        CHECK(info.start_time_seconds == 1'012.0);
    }
}

TEST_CASE("what is not such a text tells nothing") {
    for (const std::string text : {"", "42 (x", "42 (x) S 1 2 3", "nonsense"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_proc_stat(text, {}).resident_bytes.has_value());
    }
    CHECK_FALSE(parse_proc_stat("42 (x)" + behind_name, {}).start_time_seconds.has_value());
}

#ifdef __linux__
TEST_CASE("this process is alive") {
    const process_info info = read_process_info();
    REQUIRE(info.resident_bytes.has_value());
    CHECK(*info.resident_bytes > 100'000);
    CHECK(info.virtual_bytes.value_or(0) >= *info.resident_bytes);
    CHECK(info.threads.value_or(0) >= 1);
    CHECK(info.open_descriptors.value_or(0) >= 1);
    CHECK(info.cpu_seconds.has_value());
    CHECK(info.start_time_seconds.value_or(0) > 1.7e9);
}
#endif
