#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/bytes_elements.hpp"
#include "core/gather.hpp"
#include "core/split.hpp"

using namespace asio_infer;

namespace {

buffer bytes_of(const std::string& text) {
    unique_buffer memory(text.size());
    std::memcpy(memory.data(), text.data(), text.size());
    return std::move(memory).share();
}

std::string element(std::string_view text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + std::string(text);
}

std::string text_of(const tensor& t) { return {reinterpret_cast<const char*>(t.data.data()), t.data.size()}; }

using rows = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("split: rows by member, sharing the bytes") {
    const tensor whole{dtype::int16, {3, 2}, bytes_of("aabbccddeeff")};
    const auto parts = split_rows(whole, rows{1, 0, 2}, "Y");
    REQUIRE(parts.has_value());
    REQUIRE(parts->size() == 3);
    CHECK(text_of((*parts)[0]) == "aabb");
    CHECK((*parts)[0].shape == shape{1, 2});
    CHECK((*parts)[1].data.size() == 0);
    CHECK((*parts)[1].shape == shape{0, 2});
    CHECK(text_of((*parts)[2]) == "ccddeeff");
    CHECK((*parts)[2].data.data() == whole.data.data() + 4);
}

TEST_CASE("split: strings of any length") {
    const std::string packed = element("a") + element("") + element(std::string("x\0y", 3)) + element("long one");
    const tensor whole{dtype::bytes, {2, 2}, bytes_of(packed)};
    const auto parts = split_rows(whole, rows{1, 1}, "S");
    REQUIRE(parts.has_value());
    CHECK(text_of((*parts)[0]) == element("a") + element(""));
    CHECK(text_of((*parts)[1]) == element(std::string("x\0y", 3)) + element("long one"));
}

TEST_CASE("split: an output that does not have the batch's rows is an error that names it") {
    const tensor constant{dtype::uint8, {4, 1}, bytes_of("0123")};
    const auto parts = split_rows(constant, rows{1, 2}, "C");
    REQUIRE(parts.has_error());
    CHECK(parts.error().code == errc::model_error);
    CHECK(parts.error().message == "output 'C': shape [4,1] where a batch of 3 rows was run");
    CHECK(split_rows(tensor{dtype::uint8, {}, bytes_of("0")}, rows{1}, "C").has_error());
}

TEST_CASE("split: bytes that contradict the shape") {
    CHECK(split_rows(tensor{dtype::fp32, {2}, bytes_of("1234567")}, rows{1, 1}, "Y").has_error());
    CHECK(split_rows(tensor{dtype::fp32, {2}, bytes_of("123456789012")}, rows{1, 1}, "Y").has_error());
    CHECK(split_rows(tensor{dtype::bytes, {2}, bytes_of(element("a"))}, rows{1, 1}, "Y").has_error());
    CHECK(split_rows(tensor{dtype::bytes, {1}, bytes_of(element("a") + element("b"))}, rows{1}, "Y").has_error());
    CHECK(split_rows(tensor{dtype::bytes, {1}, bytes_of("\x05\0\0\0a")}, rows{1}, "Y").has_error());
}

TEST_CASE("split: a zero behind the batch axis") {
    const auto parts = split_rows(tensor{dtype::fp32, {3, 0}, bytes_of("")}, rows{1, 2}, "Y");
    REQUIRE(parts.has_value());
    CHECK((*parts)[1].shape == shape{2, 0});
    CHECK((*parts)[1].data.size() == 0);
}

TEST_CASE("gather: rows join in order, in aligned memory, and split again to the same") {
    const tensor a{dtype::int16, {1, 2}, bytes_of("aabb")};
    const tensor none{dtype::int16, {0, 2}, buffer{}};
    const tensor b{dtype::int16, {2, 2}, bytes_of("ccddeeff")};
    const tensor* const parts[]{&a, &none, &b};
    const tensor whole = gather_rows(parts);
    CHECK(whole.type == dtype::int16);
    CHECK(whole.shape == shape{3, 2});
    CHECK(text_of(whole) == "aabbccddeeff");
    CHECK(whole.data.aligned());
    const auto again = split_rows(whole, rows{1, 0, 2}, "Y");
    REQUIRE(again.has_value());
    CHECK(text_of((*again)[2]) == text_of(b));
}

TEST_CASE("gather: strings") {
    const tensor a{dtype::bytes, {1}, bytes_of(element("one"))};
    const tensor b{dtype::bytes, {2}, bytes_of(element("") + element("two"))};
    const tensor* const parts[]{&a, &b};
    const tensor whole = gather_rows(parts);
    CHECK(whole.shape == shape{3});
    CHECK(text_of(whole) == element("one") + element("") + element("two"));
}

TEST_CASE("aligned_copy: same bytes elsewhere") {
    const buffer source = bytes_of("0123456789").slice(3, 5);
    const buffer copy = aligned_copy(source);
    CHECK(copy.aligned());
    CHECK(copy.data() != source.data());
    CHECK(std::string(reinterpret_cast<const char*>(copy.data()), copy.size()) == "34567");
    CHECK(aligned_copy(buffer{}).size() == 0);
    CHECK(aligned_copy(buffer{}).data() != nullptr);
}

TEST_CASE("strings: counting walks the lengths exactly") {
    const auto count = [](const std::string& packed) { return count_bytes_elements(bytes_of(packed).bytes()); };
    CHECK(count("") == 0);
    CHECK(count(element("") + element("ab")) == 2);
    CHECK_FALSE(count("abc").has_value());
    CHECK_FALSE(count(element("ab") + "x").has_value());
    CHECK_FALSE(count(std::string("\xff\xff\xff\xff", 4) + "x").has_value());
}
