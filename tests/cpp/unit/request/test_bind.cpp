#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "request/bind.hpp"
#include "unit/request/decode_helpers.hpp"

using namespace asio_infer;
using namespace asio_infer::test;

namespace {

tensor_spec spec_of(std::string name, dtype type, shape dims, std::vector<std::string> symbols = {}) {
    tensor_spec spec;
    spec.name = std::move(name);
    spec.type = type;
    spec.shape = std::move(dims);
    spec.symbols = symbols.empty() ? std::vector<std::string>(spec.shape.size()) : std::move(symbols);
    return spec;
}

/// Add(A,B)->Y with a second output.
model_spec add_model(std::uint32_t max_rows = 8) {
    model_spec spec;
    spec.name = "add";
    spec.inputs = {spec_of("A", dtype::fp32, {-1, 4}, {"N", ""}), spec_of("B", dtype::fp32, {-1, 4}, {"N", ""})};
    spec.outputs = {spec_of("Y", dtype::fp32, {-1, 4}), spec_of("BS", dtype::int64, {-1, 1})};
    spec.max_batch_rows = max_rows;
    return spec;
}

named_tensor zeros(std::string name, dtype type, shape dims) {
    const std::size_t size = element_count(dims).value_or(0) * element_size(type);
    unique_buffer memory(size);
    for (std::byte& b : memory.bytes()) b = std::byte{0};
    return {std::move(name), {type, std::move(dims), std::move(memory).share()}, {}};
}

infer_call call_of(std::vector<named_tensor> inputs, std::vector<std::string> outputs = {}) {
    infer_call call;
    call.request.inputs = std::move(inputs);
    for (std::string& name : outputs) {
        requested_output output;
        output.name = std::move(name);
        call.request.outputs.push_back(std::move(output));
    }
    return call;
}

infer_call good_call(std::vector<std::string> outputs = {}) {
    return call_of({zeros("A", dtype::fp32, {2, 4}), zeros("B", dtype::fp32, {2, 4})}, std::move(outputs));
}

std::string refused(infer_call call, const model_spec& spec) { return refusal(bind(call, spec)); }

std::vector<std::uint32_t> indices(const infer_call& call) {
    std::vector<std::uint32_t> out;
    for (const infer_call::bound_output& output : call.outputs) out.push_back(output.index);
    return out;
}

}  // namespace

TEST_CASE("bind: inputs land at the model's positions, whatever the client's order") {
    infer_call call = call_of({zeros("B", dtype::fp32, {2, 4}), zeros("A", dtype::fp32, {2, 4})});
    REQUIRE(bind(call, add_model()).has_value());
    REQUIRE(call.inputs.size() == 2);
    CHECK(call.inputs[0] == &call.request.inputs[1].value);
    CHECK(call.inputs[1] == &call.request.inputs[0].value);
    CHECK(call.rows == 2);
}

TEST_CASE("bind: no outputs are all outputs, a list is answered in its order") {
    infer_call all = good_call();
    all.request.binary_output = true;
    REQUIRE(bind(all, add_model()).has_value());
    CHECK(indices(all) == std::vector<std::uint32_t>{0, 1});
    CHECK(all.outputs[0].binary);
    infer_call reversed = good_call({"BS", "Y"});
    reversed.request.outputs[0].binary = true;
    reversed.request.outputs[1].classification = 3;
    REQUIRE(bind(reversed, add_model()).has_value());
    CHECK(indices(reversed) == std::vector<std::uint32_t>{1, 0});
    CHECK(reversed.outputs[0].binary);
    CHECK_FALSE(reversed.outputs[1].binary);
    CHECK(reversed.outputs[1].classification == 3);
    // Binding again starts anew.
    REQUIRE(bind(reversed, add_model()).has_value());
    CHECK(reversed.outputs.size() == 2);
}

TEST_CASE("bind: names that are unknown, repeat or are missing") {
    const model_spec spec = add_model();
    CHECK(refused(good_call({"nope"}), spec) == "output 'nope': the model has no such output; it has 'Y', 'BS'");
    CHECK(refused(good_call({"y"}), spec) == "output 'y': the model has no such output; it has 'Y', 'BS'");
    CHECK(refused(good_call({"Y", "Y"}), spec) == "output 'Y': asked for twice");
    const auto a = [] { return zeros("A", dtype::fp32, {2, 4}); };
    CHECK(refused(call_of({a(), a()}), spec) == "input 'A': given twice");
    CHECK(refused(call_of({a()}), spec) == "input 'B': missing");
    CHECK(refused(call_of({}), spec) == "input 'A': missing");
    CHECK(refused(call_of({a(), zeros("B", dtype::fp32, {2, 4}), zeros("C", dtype::fp32, {2, 4})}), spec) ==
          "input 'C': the model has no such input; it has 'A', 'B'");
    CHECK(refused(call_of({zeros("a", dtype::fp32, {2, 4})}), spec) ==
          "input 'a': the model has no such input; it has 'A', 'B'");
    CHECK(refused(call_of({zeros("", dtype::fp32, {2, 4})}), spec) ==
          "input '': the model has no such input; it has 'A', 'B'");
}

TEST_CASE("bind: datatype, rank and fixed dims") {
    const model_spec spec = add_model();
    const auto with_a = [](named_tensor a) { return call_of({std::move(a), zeros("B", dtype::fp32, {2, 4})}); };
    CHECK(refused(with_a(zeros("A", dtype::int64, {2, 4})), spec) ==
          "input 'A': datatype INT64 where the model takes FP32");
    CHECK(refused(with_a(zeros("A", dtype::fp32, {2, 5})), spec) ==
          "input 'A': shape [2,5] where the model takes [-1,4]");
    CHECK(refused(with_a(zeros("A", dtype::fp32, {8})), spec) == "input 'A': shape [8] where the model takes [-1,4]");
    CHECK(refused(with_a(zeros("A", dtype::fp32, {2, 4, 1})), spec) ==
          "input 'A': shape [2,4,1] where the model takes [-1,4]");
    CHECK(refused(with_a(zeros("A", dtype::fp32, {})), spec) == "input 'A': shape [] where the model takes [-1,4]");
    named_tensor hollow = zeros("A", dtype::fp32, {2, 4});
    hollow.value.data = hollow.value.data.slice(0, 28);
    CHECK(refused(with_a(hollow), spec) == "input 'A': 28 bytes do not fill shape [2,4]");
}

TEST_CASE("bind: any rank") {
    model_spec spec = add_model(0);
    spec.inputs = {spec_of("A", dtype::fp32, {})};
    CHECK(refused(call_of({zeros("A", dtype::fp32, {1})}), spec) == "input 'A': shape [1] where the model takes []");
    CHECK(refused(call_of({zeros("A", dtype::fp32, {})}), spec) == "accepted");
    spec.inputs[0].any_rank = true;
    CHECK(refused(call_of({zeros("A", dtype::fp32, {2, 3, 4})}), spec) == "accepted");
}

TEST_CASE("bind: rows of a batched model") {
    const model_spec spec = add_model(8);
    const auto rows = [&](std::int64_t a, std::int64_t b) {
        return call_of({zeros("A", dtype::fp32, {a, 4}), zeros("B", dtype::fp32, {b, 4})});
    };
    infer_call eight = rows(8, 8);
    REQUIRE(bind(eight, spec).has_value());
    CHECK(eight.rows == 8);
    infer_call none = rows(0, 0);
    REQUIRE(bind(none, spec).has_value());
    CHECK(none.rows == 0);
    CHECK(refused(rows(9, 9), spec) == "input 'A': 9 rows where the model takes at most 8 in one request");
    CHECK(refused(rows(std::int64_t{1} << 20, std::int64_t{1} << 20), spec) ==
          "input 'A': 1048576 rows where the model takes at most 8 in one request");
    CHECK(refused(rows(3, 1), spec) == "input 'B': dimension 'N' is 1 but input 'A' has 3");
}

TEST_CASE("bind: leading dims agree in a batched model even if their names differ") {
    model_spec spec = add_model(8);
    spec.inputs[1].symbols[0] = "M";
    infer_call call = call_of({zeros("A", dtype::fp32, {3, 4}), zeros("B", dtype::fp32, {1, 4})});
    CHECK(refused(std::move(call), spec) == "input 'B': 1 rows but input 'A' has 3");
}

TEST_CASE("bind: unbatched models take any leading dim and count one row") {
    model_spec spec = add_model(0);
    spec.inputs[1].symbols[0] = "M";
    infer_call call = call_of({zeros("A", dtype::fp32, {300, 4}), zeros("B", dtype::fp32, {1, 4})});
    REQUIRE(bind(call, spec).has_value());
    CHECK(call.rows == 1);
}

TEST_CASE("bind: symbolic dims agree between and within inputs") {
    model_spec spec = add_model(0);
    spec.inputs = {spec_of("A", dtype::uint8, {-1, -1}, {"N", "L"}), spec_of("B", dtype::uint8, {-1, -1}, {"L", ""}),
                   spec_of("C", dtype::uint8, {-1, -1}, {"K", "K"})};
    const auto call = [](shape a, shape b, shape c) {
        return call_of({zeros("A", dtype::uint8, std::move(a)), zeros("B", dtype::uint8, std::move(b)),
                        zeros("C", dtype::uint8, std::move(c))});
    };
    CHECK(refused(call({1, 2}, {2, 9}, {5, 5}), spec) == "accepted");
    CHECK(refused(call({1, 2}, {3, 9}, {5, 5}), spec) == "input 'B': dimension 'L' is 3 but input 'A' has 2");
    CHECK(refused(call({1, 2}, {2, 9}, {5, 6}), spec) == "input 'C': dimension 'K' is 6 but input 'C' has 5");
}

TEST_CASE("bind: optional inputs may be left out, and are checked when given") {
    model_spec spec = add_model(0);
    spec.inputs[1].optional = true;
    infer_call without = call_of({zeros("A", dtype::fp32, {2, 4})});
    REQUIRE(bind(without, spec).has_value());
    CHECK(without.inputs[1] == nullptr);
    CHECK(refused(call_of({zeros("A", dtype::fp32, {2, 4}), zeros("B", dtype::fp32, {2, 3})}), spec) ==
          "input 'B': shape [2,3] where the model takes [-1,4]");
}

TEST_CASE("bind: tensors that the protocol cannot carry") {
    model_spec spec = add_model();
    spec.outputs[1].unsupported = "sequence(map(int64,float))";
    const std::string reason = "its type sequence(map(int64,float)) cannot be carried by this protocol";
    infer_call all = good_call();
    REQUIRE(bind(all, spec).has_value());
    CHECK(indices(all) == std::vector<std::uint32_t>{0});
    CHECK(refused(good_call({"Y", "BS"}), spec) == "output 'BS': " + reason);
    CHECK(refused(good_call({"Y"}), spec) == "accepted");
    spec.outputs[0].unsupported = spec.outputs[1].unsupported;
    CHECK(refused(good_call(), spec) == "output 'Y': " + reason);
    model_spec input = add_model();
    input.inputs[1].unsupported = "optional(tensor(float))";
    CHECK(refused(good_call(), input) ==
          "input 'B': its type optional(tensor(float)) cannot be carried by this protocol");
    CHECK(refused(call_of({zeros("A", dtype::fp32, {2, 4})}), input) ==
          "input 'B': its type optional(tensor(float)) cannot be carried by this protocol");
    input.inputs[1].optional = true;
    CHECK(refused(call_of({zeros("A", dtype::fp32, {2, 4})}), input) == "accepted");
}
