#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "support/backend_fixture.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;

TEST_CASE_FIXTURE(onnx_fixture, "a run on the calling thread") {
    const auto model = load("add");
    auto outputs = run_alone(*model, {floats({1, 4}, {1, 2, 3, 4}), floats({1, 4}, {10, 20, 30, 40})});
    REQUIRE(outputs);
    REQUIRE(outputs->size() == 1);
    CHECK(outputs->front().type == dtype::fp32);
    CHECK(outputs->front().shape == shape{1, 4});
    CHECK(values_of<float>(outputs->front()) == std::vector<float>{11, 22, 33, 44});
    CHECK(outputs->front().data.aligned());
}

TEST_CASE_FIXTURE(onnx_fixture, "a run on a worker") {
    const auto model = load("add");
    const auto call = make_call({floats({1, 4}, {1, 2, 3, 4}), floats({1, 4}, {10, 20, 30, 40})});
    waiting_job waiting({call.get()}, {0}, false);
    model->instance(0).async_run(waiting.job);
    const auto& outputs = waiting.wait();
    REQUIRE(outputs);
    CHECK(values_of<float>(outputs->front()) == std::vector<float>{11, 22, 33, 44});
    CHECK(waiting.job.compute_started.time_since_epoch().count() > 0);
    CHECK(waiting.job.compute_ended >= waiting.job.compute_started);
}

TEST_CASE_FIXTURE(onnx_fixture, "several members run together and their rows come back in order") {
    const auto model = load("reveal");
    const auto first = make_call({floats({2, 2}, {1, 2, 3, 4})}, 2);
    const auto empty = make_call({floats({0, 2}, {})}, 0);
    const auto third = make_call({floats({1, 2}, {5, 6}, 4)}, 1);
    waiting_job waiting({first.get(), empty.get(), third.get()}, {0, 1}, true);
    model->instance(0).async_run(waiting.job);
    const auto& outputs = waiting.wait();
    REQUIRE(outputs);
    CHECK((*outputs)[0].shape == shape{3, 2});
    CHECK(values_of<float>((*outputs)[0]) == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK(values_of<std::int64_t>((*outputs)[1]) == std::vector<std::int64_t>{3, 3, 3});
}

TEST_CASE_FIXTURE(onnx_fixture, "only the outputs that are wanted are computed, in ascending order") {
    const auto model = load("two_outputs");
    auto second = run_alone(*model, {floats({1, 2}, {1, 2})}, {1});
    REQUIRE(second);
    REQUIRE(second->size() == 1);
    CHECK(values_of<float>(second->front()) == std::vector<float>{2, 3});
    auto both = run_alone(*model, {floats({1, 2}, {1, 2})}, {0, 1});
    REQUIRE(both);
    CHECK(values_of<float>((*both)[0]) == std::vector<float>{2, 4});
    CHECK(values_of<float>((*both)[1]) == std::vector<float>{2, 3});
}

TEST_CASE_FIXTURE(onnx_fixture, "every datatype comes back bit by bit, aligned or not, full or empty") {
    struct sample {
        std::string name;
        tensor value;
    };
    const std::vector<sample> samples{
        {"id_bool", numbers<std::uint8_t>(dtype::boolean, {1, 2}, {0, 1}, 1)},
        {"id_uint8", numbers<std::uint8_t>(dtype::uint8, {1, 2}, {0, 255}, 1)},
        {"id_uint16", numbers<std::uint16_t>(dtype::uint16, {2, 1}, {0, 65535}, 2)},
        {"id_uint32", numbers<std::uint32_t>(dtype::uint32, {2, 1}, {1, 4294967295U}, 3)},
        {"id_uint64", numbers<std::uint64_t>(dtype::uint64, {1, 1}, {18446744073709551615ULL}, 7)},
        {"id_int8", numbers<std::int8_t>(dtype::int8, {1, 2}, {-128, 127}, 1)},
        {"id_int16", numbers<std::int16_t>(dtype::int16, {1, 2}, {-32768, 32767}, 1)},
        {"id_int32", numbers<std::int32_t>(dtype::int32, {1, 2}, {-2147483647 - 1, 2147483647}, 1)},
        {"id_int64", numbers<std::int64_t>(dtype::int64, {1, 2}, {9007199254740993, -9007199254740993}, 1)},
        {"id_fp16", numbers<std::uint16_t>(dtype::fp16, {1, 3}, {0x3c00, 0xfc00, 0x0001}, 1)},
        {"id_fp32", numbers<float>(dtype::fp32, {1, 2}, {-0.0F, 1e-45F}, 1)},
        {"id_fp64", numbers<double>(dtype::fp64, {1, 2}, {5e-324, 0.1}, 1)},
        {"id_bf16", numbers<std::uint16_t>(dtype::bf16, {1, 2}, {0x3f80, 0xff80}, 1)},
        {"id_bytes", strings({1, 3}, {std::string("a\0b", 3), "", "\xff\xfe"})},
    };
    for (const sample& s : samples) {
        CAPTURE(s.name);
        const auto model = load(s.name);
        auto outputs = run_alone(*model, {s.value});
        REQUIRE(outputs);
        CHECK(outputs->front().type == s.value.type);
        CHECK(outputs->front().shape == s.value.shape);
        CHECK(bytes_of(outputs->front()) == bytes_of(s.value));

        auto none = run_alone(*model, {tensor{s.value.type, {0, 3}, {}}});
        REQUIRE(none);
        CHECK(none->front().shape == shape{0, 3});
        CHECK(none->front().data.size() == 0);
    }
}

TEST_CASE_FIXTURE(onnx_fixture, "strings of several members are joined, of all sizes, with nothing left over") {
    const auto model = load("str");
    const std::string large(std::size_t{2} << 20, 'x');
    for (const std::string& middle : {large, std::string("small"), std::string()}) {
        const auto first = make_call({strings({1}, {"a"})});
        const auto second = make_call({strings({2}, {middle, std::string("\0", 1)})}, 2);
        const auto third = make_call({strings({0}, {})}, 0);
        waiting_job waiting({first.get(), second.get(), third.get()}, {0}, true);
        model->instance(0).async_run(waiting.job);
        const auto& outputs = waiting.wait();
        REQUIRE(outputs);
        CHECK(outputs->front().shape == shape{3});
        CHECK(bytes_of(outputs->front()) == pack({"a", middle, std::string("\0", 1)}));
    }
}

TEST_CASE_FIXTURE(onnx_fixture, "BYTES that do not hold the shape's elements are refused") {
    const auto model = load("str");
    const std::string packed = pack({"abc"});
    const auto refused = [&](shape dims, std::string_view bytes) {
        const tensor t{dtype::bytes, std::move(dims), to_buffer(std::as_bytes(std::span(bytes)))};
        const auto outputs = run_alone(*model, {t});
        return outputs.has_error() && outputs.error().code == errc::invalid_request;
    };
    CHECK(refused({2}, packed));
    CHECK(refused({0}, packed));
    CHECK(refused({1}, packed.substr(0, 6)));
    CHECK(refused({1}, packed + "x"));
    CHECK(refused({1}, std::string_view("\xff\xff\xff\xff", 4)));
    CHECK(refused({std::int64_t{1} << 40}, packed));
    CHECK(run_alone(*model, {strings({1}, {"abc"})}));
}

TEST_CASE_FIXTURE(onnx_fixture, "bytes that do not fit the shape are refused before the runtime sees them") {
    const auto model = load("id_fp32");
    for (const shape& dims : {shape{1, 4}, shape{1, 2}, shape{std::int64_t{1} << 40, std::int64_t{1} << 40}}) {
        auto wrong = floats({1, 3}, {1, 2, 3});
        wrong.shape = dims;
        const auto outputs = run_alone(*model, {wrong});
        REQUIRE(outputs.has_error());
        CHECK(outputs.error().code == errc::invalid_request);
    }
}

TEST_CASE_FIXTURE(onnx_fixture, "scalars and tensors without elements") {
    const auto scalar = load("scalar");
    auto five = run_alone(*scalar, {floats({}, {2.5F})});
    REQUIRE(five);
    CHECK(five->front().shape == shape{});
    CHECK(values_of<float>(five->front()) == std::vector<float>{5});

    const auto reveal = load("reveal");
    auto wide = run_alone(*reveal, {floats({0, 2}, {})}, {0, 1, 2});
    REQUIRE(wide);
    CHECK((*wide)[0].shape == shape{0, 2});
    CHECK((*wide)[1].shape == shape{0, 1});
    auto tall = run_alone(*reveal, {floats({2, 0}, {})}, {0, 2});
    REQUIRE(tall);
    CHECK((*tall)[0].shape == shape{2, 0});
    CHECK(values_of<std::int64_t>((*tall)[1]) == std::vector<std::int64_t>{0, 0});

    const auto nonzero = load("nz");
    auto none = run_alone(*nonzero, {floats({4}, {0, 0, 0, 0})});
    REQUIRE(none);
    CHECK(none->front().shape == shape{1, 0});
    CHECK(none->front().data.size() == 0);

    const auto sum = load("sumall");
    auto six = run_alone(*sum, {floats({3, 2}, {1, 1, 1, 1, 1, 1})});
    REQUIRE(six);
    CHECK(six->front().shape == shape{});
    CHECK(values_of<float>(six->front()) == std::vector<float>{6});
}

TEST_CASE_FIXTURE(onnx_fixture, "an input with a default may be left out") {
    const auto model = load("kopt");
    REQUIRE(model->spec().inputs.size() == 2);
    const tensor x = floats({1}, {2});
    tensor k = floats(model->spec().inputs[1].shape, {10});
    auto without = run_alone(*model, {x, left_out()});
    REQUIRE(without);
    CHECK(values_of<float>(without->front()) == std::vector<float>{6});
    auto with = run_alone(*model, {x, k});
    REQUIRE(with);
    CHECK(values_of<float>(with->front()) == std::vector<float>{20});
}

TEST_CASE_FIXTURE(onnx_fixture, "an input of optional type may be given or left out") {
    const auto model = load("opt");
    auto without = run_alone(*model, {left_out()});
    REQUIRE(without);
    CHECK(values_of<float>(without->front()) == std::vector<float>{-1, -1});
    auto with = run_alone(*model, {floats({2}, {1, 2})});
    REQUIRE(with);
    CHECK(values_of<float>(with->front()) == std::vector<float>{1, 2});
}

TEST_CASE_FIXTURE(onnx_fixture, "an output that is an input has memory of its own") {
    for (const char* name : {"pass", "pass_beside"}) {
        CAPTURE(name);
        const auto model = load(name);
        std::vector<std::uint32_t> all(model->spec().outputs.size());
        for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
        auto call = make_call({floats({1, 2}, {1, 2})});
        const tensor* const input = call->inputs[0];
        waiting_job waiting({call.get()}, all, true);
        model->instance(0).async_run(waiting.job);
        const auto& outputs = waiting.wait();
        REQUIRE(outputs);
        for (const tensor& output : *outputs) CHECK(output.data.data() != input->data.data());
        // Written over and freed, as a connection's buffer would be.
        std::memset(const_cast<std::byte*>(input->data.data()), 0x55, input->data.size());
        call.reset();
        for (const tensor& output : *outputs) CHECK(values_of<float>(output) == std::vector<float>{1, 2});
    }
}

TEST_CASE_FIXTURE(onnx_fixture, "results outlive their model") {
    auto model = load("add");
    auto outputs = run_alone(*model, {floats({1, 4}, {1, 2, 3, 4}), floats({1, 4}, {1, 1, 1, 1})});
    REQUIRE(outputs);
    model.reset();
    CHECK(values_of<float>(outputs->front()) == std::vector<float>{2, 3, 4, 5});
}

TEST_CASE_FIXTURE(onnx_fixture, "a run that a node refuses is the model's error, with the runtime's words") {
    const auto model = load("gather");
    const auto outputs = run_alone(*model, {numbers<std::int64_t>(dtype::int64, {2}, {1, 77})});
    REQUIRE(outputs.has_error());
    CHECK(outputs.error().code == errc::model_error);
    CHECK(mentions(outputs.error(), "77"));
    const auto after = run_alone(*model, {numbers<std::int64_t>(dtype::int64, {3}, {0, 9, -1})});
    REQUIRE(after);
    CHECK(values_of<float>(after->front()) == std::vector<float>{0, 13.5F, 13.5F});
}

TEST_CASE_FIXTURE(onnx_fixture, "dims that the runtime refuses before it starts are the caller's mistake") {
    const auto model = load("fix1");
    const auto outputs = run_alone(*model, {floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})});
    REQUIRE(outputs.has_error());
    CHECK(outputs.error().code == errc::invalid_request);
    CHECK(mentions(outputs.error(), "X"));
}

TEST_CASE_FIXTURE(onnx_fixture, "what a caller did wrong is not logged") {
    const auto model = load("gather");
    CHECK(run_alone(*model, {numbers<std::int64_t>(dtype::int64, {1}, {77})}).has_error());
    CHECK_FALSE(log.contains("77"));
}

TEST_CASE_FIXTURE(onnx_fixture, "NaN and infinities stay as they are") {
    const auto model = load("log");
    auto outputs = run_alone(*model, {floats({4}, {-1, 0, std::numeric_limits<float>::infinity(), 1})});
    REQUIRE(outputs);
    const auto values = values_of<float>(outputs->front());
    REQUIRE(values.size() == 4);
    CHECK(std::isnan(values[0]));
    CHECK(values[1] == -std::numeric_limits<float>::infinity());
    CHECK(values[2] == std::numeric_limits<float>::infinity());
    CHECK(values[3] == 0);
}

TEST_CASE_FIXTURE(onnx_fixture, "a running job is stopped, and the next one runs") {
    const auto model = load("loop");
    const auto call = make_call({numbers<std::int64_t>(dtype::int64, model->spec().inputs[0].shape, {1'000'000})});
    waiting_job waiting({call.get()}, {0}, false);
    model->instance(0).async_run(waiting.job);
    model->instance(0).cancel();
    const auto& outputs = waiting.wait();
    REQUIRE(outputs.has_error());
    CHECK(outputs.error().code == errc::cancelled);

    // While it is inside the runtime.
    waiting_job second({call.get()}, {0}, false);
    model->instance(0).async_run(second.job);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK_FALSE(second.is_done());
    model->instance(0).cancel();
    REQUIRE(second.wait().has_error());
    CHECK(second.job.outcome.error().code == errc::cancelled);

    // Without a job there is nothing to stop.
    model->instance(0).cancel();
    const auto again = run_alone(*model, {numbers<std::int64_t>(dtype::int64, model->spec().inputs[0].shape, {3})});
    REQUIRE(again);
    CHECK(values_of<float>(again->front()) == std::vector<float>{3});
}

TEST_CASE_FIXTURE(onnx_fixture, "instances run at the same time and give exact values") {
    auto o = options("reveal");
    o.instances = 4;
    const auto model = load(o);
    REQUIRE(model->instance_count() == 4);
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (std::uint32_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (std::uint32_t round = 0; round < 200; ++round) {
                const std::uint32_t rows = 1 + (round * 7 + t) % 13;
                std::vector<float> values(rows * 3U);
                for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(t * 1000 + round + i);
                const auto call = make_call({floats({rows, 3}, values, round % 2 * 4)}, rows);
                waiting_job waiting({call.get()}, {0, 1}, true);
                model->instance(t).async_run(waiting.job);
                const auto& outputs = waiting.wait();
                if (!outputs || values_of<float>((*outputs)[0]) != values ||
                    values_of<std::int64_t>((*outputs)[1]) != std::vector<std::int64_t>(rows, rows))
                    ++wrong;
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE_FIXTURE(onnx_fixture, "a cancellation that races with the end of its job stops no other") {
    const auto model = load("cnn");
    auto& instance = model->instance(0);
    const std::vector<float> pixels(3 * 32 * 32, 1);
    const auto call = make_call({floats({1, 3, 32, 32}, pixels)});
    const auto expected = run_alone(*model, {floats({1, 3, 32, 32}, pixels)});
    REQUIRE(expected);
    for (int round = 0; round < 300; ++round) {
        waiting_job first({call.get()}, {0}, false);
        instance.async_run(first.job);
        std::thread canceller([&] { instance.cancel(); });
        const auto& outcome = first.wait();
        canceller.join();
        if (outcome)
            CHECK(bytes_of(outcome->front()) == bytes_of(expected->front()));
        else
            CHECK(outcome.error().code == errc::cancelled);
        const auto next = run_alone(*model, {floats({1, 3, 32, 32}, pixels)});
        REQUIRE(next);
        CHECK(bytes_of(next->front()) == bytes_of(expected->front()));
    }
}
