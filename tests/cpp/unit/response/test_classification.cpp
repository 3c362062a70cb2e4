#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/bytes_elements.hpp"
#include "response/classification.hpp"
#include "unit/response/encode_helpers.hpp"

using namespace asio_infer;
using namespace asio_infer::test;

namespace {

std::vector<std::string> strings(const result<tensor>& top) {
    REQUIRE(top.has_value());
    CHECK(top->type == dtype::bytes);
    CHECK(count_bytes_elements(top->data.bytes()) == element_count(top->shape));
    std::vector<std::string> out;
    bytes_elements elements(top->data.bytes());
    while (const auto element = elements.next()) out.emplace_back(*element);
    return out;
}

using list = std::vector<std::string>;

}  // namespace

TEST_CASE("classification: the highest of the whole tensor, equal ones by index") {
    const tensor scores = tensor_of<std::int32_t>(dtype::int32, {2, 2}, {5, 9, -1, 9});
    const auto top = classify(scores, 3, false);
    CHECK(strings(top) == list{"9:1", "9:3", "5:0"});
    CHECK(top->shape == shape{3});
}

TEST_CASE("classification: by row, k above the number of classes, one class") {
    const tensor scores = tensor_of<double>(dtype::fp64, {2, 2}, {0.25, 0.75, 1, -1});
    const auto top = classify(scores, 5, true);
    CHECK(strings(top) == list{"0.75:1", "0.25:0", "1.0:0", "-1.0:1"});
    CHECK(top->shape == shape{2, 2});
    const auto single = classify(tensor_of<std::uint8_t>(dtype::uint8, {3}, {1, 2, 3}), 1, true);
    CHECK(strings(single) == list{"1:0", "2:0", "3:0"});
    CHECK(single->shape == shape{3, 1});
}

TEST_CASE("classification: 64-bit integers are compared and printed exactly") {
    const tensor scores =
        tensor_of<std::uint64_t>(dtype::uint64, {3}, {18446744073709551614U, 18446744073709551615U, 0});
    CHECK(strings(classify(scores, 2, false)) == list{"18446744073709551615:1", "18446744073709551614:0"});
}

TEST_CASE("classification: NaN last, infinities as they are, halves by value") {
    const float nan = std::nanf("");
    const float inf = std::numeric_limits<float>::infinity();
    CHECK(strings(classify(tensor_of<float>(dtype::fp32, {4}, {nan, -inf, inf, nan}), 4, false)) ==
          list{"inf:2", "-inf:1", "nan:0", "nan:3"});
    // -2, 1, 2 as fp16: the bit pattern of the negative one is the largest integer.
    CHECK(strings(classify(tensor_of<std::uint16_t>(dtype::fp16, {3}, {0xc000, 0x3c00, 0x4000}), 3, false)) ==
          list{"2.0:2", "1.0:1", "-2.0:0"});
    CHECK(strings(classify(tensor_of<std::uint16_t>(dtype::bf16, {2}, {0xbf80, 0x3f80}), 1, false)) == list{"1.0:1"});
}

TEST_CASE("classification: empty tensors and scalars") {
    const auto no_rows = classify(tensor_of<float>(dtype::fp32, {0, 5}, {}), 3, true);
    CHECK(strings(no_rows).empty());
    CHECK(no_rows->shape == shape{0, 3});
    const auto no_classes = classify(tensor_of<float>(dtype::fp32, {2, 0}, {}), 3, true);
    CHECK(strings(no_classes).empty());
    CHECK(no_classes->shape == shape{2, 0});
    CHECK(strings(classify(tensor_of<float>(dtype::fp32, {}, {2.5F}), 1, false)) == list{"2.5:0"});
}

TEST_CASE("classification: only of numbers") {
    const auto strings_top = classify(strings_of({1}, {"a"}), 1, false);
    REQUIRE(strings_top.has_error());
    CHECK(strings_top.error().code == errc::invalid_request);
    CHECK(strings_top.error().message == "classification needs numbers, not BYTES");
    CHECK(classify(tensor_of<std::uint8_t>(dtype::boolean, {1}, {1}), 1, false).has_error());
}
