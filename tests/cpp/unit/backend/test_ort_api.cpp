#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <asio_infer/runtime_error.hpp>
#include <cstdint>
#include <string>

#include "backend/onnx/element_types.hpp"
#include "backend/onnx/log_router.hpp"
#include "backend/onnx/ort_api.hpp"
#include "support/backend_fixture.hpp"

using namespace asio_infer;
using namespace asio_infer::ort;
using namespace asio_infer::testing;

namespace {

/// A library that is nothing but a version and a table whose entries are all the same function.
struct fake_library {
    static inline const char* version = "";
    static inline std::uint32_t newest = 0;  ///< the newest API version it has
    static inline std::uint32_t asked = 0;

    static void entry() {}
    static inline std::array<void (*)(), 423> table = [] {
        std::array<void (*)(), 423> entries{};
        entries.fill(&entry);
        return entries;
    }();
    static const OrtApi* get_api(std::uint32_t v) {
        asked = v;
        return v <= newest ? reinterpret_cast<const OrtApi*>(table.data()) : nullptr;
    }
    static const char* get_version() { return version; }
    static constexpr OrtApiBase base{&get_api, &get_version};

    fake_library(const char* text, std::uint32_t newest_api) {
        version = text;
        newest = newest_api;
        asked = 0;
    }
    std::string refusal() const {
        try {
            bind_api(base, "/lib/libonnxruntime.so");
        } catch (const runtime_version_error& e) {
            return e.what();
        }
        return "";
    }
};

}  // namespace

TEST_CASE("versions of the runtime") {
    CHECK(parse_version("1.19.2") == ort_version{1, 19});
    CHECK(parse_version("1.32") == ort_version{1, 32});
    CHECK(parse_version("1.23.0-dev+abc") == ort_version{1, 23});
    CHECK_FALSE(parse_version(""));
    CHECK_FALSE(parse_version("1"));
    CHECK_FALSE(parse_version("1.x"));
    CHECK_FALSE(parse_version("1.19x"));
    CHECK_FALSE(parse_version("v1.19"));
    CHECK_FALSE(parse_version("1.99999999999999999999"));
}

TEST_CASE("a library that is too old is refused with both versions") {
    for (const char* version : {"1.18.1", "1.2.0", "0.99.0", "2.0.0", "garbage"}) {
        const std::string text = fake_library(version, 99).refusal();
        CHECK(text.find(version) != std::string::npos);
        CHECK(text.find("1.19") != std::string::npos);
        CHECK(text.find("/lib/libonnxruntime.so") != std::string::npos);
    }
    CHECK(fake_library(nullptr, 99).refusal().find("(unknown)") != std::string::npos);
}

TEST_CASE("a library without the API version that its own version promises is refused, not called") {
    CHECK(fake_library("1.22.0", 21).refusal().find("1.22.0") != std::string::npos);
}

TEST_CASE("the oldest library has no functions that are newer than it") {
    const fake_library library("1.19.2", 19);
    const ort_api api = bind_api(library.base, "x");
    CHECK(library.asked == 19);
    CHECK(api.version == "1.19.2");
    CHECK(api.api_version == 19);
    CHECK((api.Run != nullptr));
    CHECK((api.SetDeterministicCompute != nullptr));
    CHECK((api.TensorTypeAndShape_HasShape == nullptr));
    CHECK((api.GetTensorElementTypeAndShapeDataReference == nullptr));
}

TEST_CASE("a library that is newer than this program is asked for what the program knows") {
    const fake_library library("1.40.0", 40);
    const ort_api api = bind_api(library.base, "x");
    CHECK(library.asked == known_api_version);
    CHECK(api.api_version == known_api_version);
    CHECK((api.GetTensorElementTypeAndShapeDataReference != nullptr));
}

TEST_CASE("each function comes from its own slot") {
    const fake_library library("1.28.0", 28);
    const auto other = +[](const OrtEnv*) -> OrtStatus* { return nullptr; };
    fake_library::table[6] = reinterpret_cast<void (*)()>(other);
    CHECK((bind_api(library.base, "x").DisableTelemetryEvents == other));
    fake_library::table[6] = &fake_library::entry;
}

TEST_CASE("element types and the protocol's types stand for each other") {
    CHECK(dtype_of(ONNXTensorElementDataType{1}) == dtype::fp32);
    CHECK(dtype_of(ONNXTensorElementDataType{8}) == dtype::bytes);
    CHECK(dtype_of(ONNXTensorElementDataType{9}) == dtype::boolean);
    CHECK(dtype_of(ONNXTensorElementDataType{16}) == dtype::bf16);
    for (const dtype_info& row : dtype_table) {
        CAPTURE(row.name);
        CHECK(dtype_of(code_of(row.type)) == row.type);
    }
    unsigned known = 0;
    for (int code = -1; code < 40; ++code)
        if (dtype_of(ONNXTensorElementDataType{code})) ++known;
    CHECK(known == dtype_table.size());
}

TEST_CASE("element types that the protocol lacks are named, unknown ones by number") {
    CHECK(element_name(ONNXTensorElementDataType{14}) == "complex64");
    CHECK(element_name(ONNXTensorElementDataType{22}) == "int4");
    CHECK(element_name(ONNXTensorElementDataType{99}) == "element type 99");
    CHECK(element_name(ONNXTensorElementDataType{-3}) == "element type -3");
}

TEST_CASE("log records go to the sink that was attached last") {
    log_router router;
    collecting_log first;
    collecting_log second;
    const auto say = [&](const char* text) {
        log_router::on_record(&router, ORT_LOGGING_LEVEL_WARNING, "cat", "id", "file.cc:1", text);
    };
    say("to nobody");
    {
        const log_attachment a(router, first);
        const log_attachment again(router, first);
        {
            const log_attachment b(router, second);
            say("to second");
        }
        say("to first");
    }
    say("to nobody");
    REQUIRE(first.records().size() == 1);
    REQUIRE(second.records().size() == 1);
    CHECK(first.records()[0].first == log_level::warning);
    CHECK(first.records()[0].second == "onnxruntime text=to first category=cat logid=id location=file.cc:1");
    CHECK(second.contains("text=to second"));
}

TEST_CASE("log records without texts, of every severity") {
    log_router router;
    collecting_log sink;
    const log_attachment attached(router, sink);
    for (int severity = 0; severity <= 5; ++severity)
        log_router::on_record(&router, OrtLoggingLevel{severity}, nullptr, nullptr, nullptr, nullptr);
    const auto records = sink.records();
    REQUIRE(records.size() == 6);
    CHECK(records[0].first == log_level::debug);
    CHECK(records[1].first == log_level::info);
    CHECK(records[2].first == log_level::warning);
    for (std::size_t i = 3; i < 6; ++i) CHECK(records[i].first == log_level::error);
}
