#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "models/probe.hpp"
#include "models/warmup.hpp"
#include "support/backend_fixture.hpp"

using namespace asio_infer;
using namespace asio_infer::testing;
using mode = batching_options::mode;

TEST_CASE_FIXTURE(onnx_fixture, "models whose rows are independent") {
    for (const char* name : {"tiny", "add", "cnn", "id_fp32", "id_bytes", "id_bool", "id_bf16", "id_fp16", "id_int64",
                             "two_outputs", "gather", "pass", "str", "log", "narrow_float16"}) {
        CAPTURE(name);
        const auto model = load(name);
        const probe_result r = probe_batching(*model, mode::automatic);
        CAPTURE(r.reason);
        CHECK(r.batchable);
    }
}

TEST_CASE_FIXTURE(onnx_fixture, "models whose requests must not be joined, and why") {
    const std::vector<std::pair<std::string, std::string>> expected{
        {"norm_over_batch", "influence each other: output 'y'"},
        {"quantised", "influence each other: output 'y'"},
        {"reveal", "influence each other: output 'BS'"},
        {"const", "the leading dimension of output 'C' is fixed to 4"},
        {"fix1", "the leading dimension of input 'X' is fixed to 1"},
        {"nz", "the leading dimension of output 'Y' is fixed to 1"},
        {"sumall", "output 'Y'"},
        {"comp", "output 'Y'"},
        {"scalar", "input 'X'"},
        {"opt", "no input has to be given"},
        {"any_rank", "the rank of input 'X' is unknown"},
        {"loop", "the leading dimension of input 'ITERS' is fixed"},
        {"seq", "no output can be served"},
    };
    for (const auto& [name, reason] : expected) {
        CAPTURE(name);
        const auto model = load(name);
        const probe_result r = probe_batching(*model, mode::automatic);
        CAPTURE(r.reason);
        CHECK_FALSE(r.batchable);
        CHECK(r.reason.find(reason) != std::string::npos);
    }
}

TEST_CASE_FIXTURE(onnx_fixture, "batching that is asked for") {
    CHECK(probe_batching(*load("reveal"), mode::on).batchable);
    const auto fixed = load("fix1");
    const error e = error_of([&] { probe_batching(*fixed, mode::on); });
    CHECK(e.code == errc::invalid_request);
    CHECK(mentions(e, "'X'"));
}

TEST_CASE_FIXTURE(onnx_fixture, "a model is warmed") {
    auto o = options("cnn");
    o.instances = 2;
    const auto model = load(o);
    const warmup_result warm = warm_up(*model, 8);
    CHECK(warm.warning.empty());
    CHECK(warm.one_row_s > 0);
    CHECK(warm.full_batch_s > warm.one_row_s);
    for (const char* name : {"scalar", "kopt", "opt", "any_rank", "str", "seq", "fix1", "comp"}) {
        CAPTURE(name);
        const warmup_result w = warm_up(*load(name), 0);
        CAPTURE(w.warning);
        CHECK(w.warning.empty() == (std::string(name) != "seq"));
    }
}
