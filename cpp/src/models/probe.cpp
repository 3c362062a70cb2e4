#include "models/probe.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "core/half.hpp"
#include "core/split.hpp"
#include "models/sample_run.hpp"

namespace asio_infer {
namespace {

constexpr std::uint32_t probe_rows = 3;

// ---- dims -----------------------------------------------------------------------------------------------------------

std::optional<std::string> leading_dim_obstacle(const tensor_spec& spec, const std::string& what) {
    const std::string tensor = what + " '" + spec.name + "'";
    if (spec.any_rank) return "the rank of " + tensor + " is unknown";
    if (spec.shape.empty()) return tensor + " is a scalar";
    if (spec.shape.front() >= 0)
        return "the leading dimension of " + tensor + " is fixed to " + std::to_string(spec.shape.front());
    return std::nullopt;
}

/// A dimension that grows with the number of rows would make every row's result depend on it.
std::optional<std::string> repeated_symbol_obstacle(const model_spec& model, const tensor_spec& spec) {
    for (std::size_t i = 1; i < spec.symbols.size(); ++i)
        for (const tensor_spec& input : model.inputs)
            if (!spec.symbols[i].empty() && !input.symbols.empty() && input.symbols.front() == spec.symbols[i])
                return "dimension " + std::to_string(i) + " of '" + spec.name + "' is the batch dimension '" +
                       spec.symbols[i] + "'";
    return std::nullopt;
}

// ---- values ---------------------------------------------------------------------------------------------------------

/// Runtimes add in another order for one row than for several, and every layer passes the difference on.
double tolerance_of(dtype type, bool single) noexcept {
    switch (type) {
        case dtype::fp16:
            return 4 * 0x1p-10;
        case dtype::bf16:
            return 2 * 0x1p-7;
        case dtype::fp64:
            return single ? 512 * 0x1p-23 : 512 * 0x1p-52;
        default:
            return 512 * 0x1p-23;
    }
}

template <class T>
T load(const std::byte* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

double real_at(const tensor& t, std::size_t index) noexcept {
    const std::byte* const from = t.data.data() + index * element_size(t.type);
    switch (t.type) {
        case dtype::fp16:
            return static_cast<double>(fp16_to_float(load<std::uint16_t>(from)));
        case dtype::bf16:
            return static_cast<double>(bf16_to_float(load<std::uint16_t>(from)));
        case dtype::fp32:
            return static_cast<double>(load<float>(from));
        default:
            return load<double>(from);
    }
}

bool is_real(dtype type) noexcept {
    return type == dtype::fp16 || type == dtype::bf16 || type == dtype::fp32 || type == dtype::fp64;
}

bool equal_bytes(const tensor& a, const tensor& b) noexcept {
    return a.data.size() == b.data.size() &&
           std::equal(a.data.bytes().begin(), a.data.bytes().end(), b.data.bytes().begin());
}

/// Equal within `tolerance` of the largest finite number of the row; infinities and NaNs in the same places.
bool equal_reals(const tensor& a, const tensor& b, double tolerance) noexcept {
    const std::size_t count = a.data.size() / element_size(a.type);
    double largest = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (const double x = std::abs(real_at(a, i)); std::isfinite(x)) largest = std::max(largest, x);
    for (std::size_t i = 0; i < count; ++i) {
        const double x = real_at(a, i);
        const double y = real_at(b, i);
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        // Written so that a NaN or an infinity on one side counts as a difference.
        if (!(std::abs(x - y) <= tolerance * largest)) return false;
    }
    return true;
}

// ---- runs -----------------------------------------------------------------------------------------------------------

bool takes_only_single(const model_spec& spec) noexcept {
    return std::none_of(spec.inputs.begin(), spec.inputs.end(),
                        [](const tensor_spec& input) { return input.type == dtype::fp64; });
}

enum class verdict { agree, differ, cannot_run };

struct trial {
    verdict outcome;
    std::string reason;
};

/// Runs the rows of one style alone and together.
class row_trial {
public:
    row_trial(backend_model& model, clock::duration& time_left)
        : model_(model), spec_(model.spec()), time_left_(time_left) {}

    trial operator()(const sample_style& style) {
        for (std::uint32_t row = 0; row < probe_rows; ++row) {
            auto call = make_sample_call(spec_, style, 1, row);
            if (!call) return {verdict::cannot_run, "its inputs are too large"};
            calls_[row] = std::move(*call);
        }
        for (std::uint32_t row = 0; row < probe_rows; ++row) {
            infer_call* const one = &calls_[row];
            auto outputs = run({&one, 1});
            if (!outputs) return {verdict::cannot_run, outputs.error().message};
            alone_[row] = std::move(*outputs);
        }
        const std::array<infer_call*, probe_rows> all{&calls_[0], &calls_[1], &calls_[2]};
        const auto together = run(all);
        if (!together) return {verdict::cannot_run, together.error().message};
        return compare(*together);
    }

private:
    result<std::vector<tensor>> run(std::span<infer_call* const> calls) {
        if (time_left_ <= clock::duration::zero()) return error{errc::deadline_exceeded, "its runs take too long"};
        clock::duration took{};
        auto outputs = run_sample(model_.instance(0), spec_, calls, took);
        time_left_ -= took;
        return outputs;
    }

    trial compare(const std::vector<tensor>& together) const {
        const std::vector<std::uint32_t> indices = all_outputs(spec_);
        for (std::size_t i = 0; i < indices.size(); ++i)
            if (auto difference = compare_output(i, spec_.outputs[indices[i]].name, together[i]))
                return {verdict::differ, std::move(*difference)};
        return {verdict::agree, {}};
    }

    std::optional<std::string> compare_output(std::size_t i, const std::string& name, const tensor& together) const {
        constexpr std::array<std::uint32_t, probe_rows> rows{1, 1, 1};
        const auto parts = split_rows(together, rows, name);
        if (!parts) return parts.error().message;
        for (std::size_t row = 0; row < probe_rows; ++row)
            if (auto difference = row_difference(alone_[row][i], (*parts)[row], name, takes_only_single(spec_)))
                return difference;
        return std::nullopt;
    }

    backend_model& model_;
    const model_spec& spec_;
    clock::duration& time_left_;
    std::array<infer_call, probe_rows> calls_;
    std::array<std::vector<tensor>, probe_rows> alone_;
};

probe_result try_rows(backend_model& model, clock::duration most_time) {
    clock::duration time_left = most_time;
    std::string last_reason;
    for (const sample_style& style : sample_styles) {
        trial t = row_trial(model, time_left)(style);
        if (t.outcome == verdict::agree) return {true, "rows give the same results alone and together"};
        if (t.outcome == verdict::differ) return {false, "rows influence each other: " + t.reason};
        // The first style's reason says most about the model; a spent time budget ends the trials.
        if (last_reason.empty()) last_reason = std::move(t.reason);
        if (time_left <= clock::duration::zero()) break;
    }
    return {false, "the model could not be tried with made-up rows: " + last_reason};
}

}  // namespace

std::optional<std::string> batching_obstacle(const model_spec& spec) {
    bool has_input = false;
    for (const tensor_spec& input : spec.inputs) {
        if (input.optional) continue;
        has_input = true;
        if (auto reason = leading_dim_obstacle(input, "input")) return reason;
        if (auto reason = repeated_symbol_obstacle(spec, input)) return reason;
    }
    if (!has_input) return "no input has to be given";
    if (all_outputs(spec).empty()) return "no output can be served";
    for (const std::uint32_t index : all_outputs(spec)) {
        if (auto reason = leading_dim_obstacle(spec.outputs[index], "output")) return reason;
        if (auto reason = repeated_symbol_obstacle(spec, spec.outputs[index])) return reason;
    }
    return std::nullopt;
}

std::optional<std::string> row_difference(const tensor& alone, const tensor& together, const std::string& output,
                                          bool single) {
    if (alone.type != together.type || alone.shape != together.shape)
        return "output '" + output + "' has shape " + to_string(alone.shape) + " for a row alone and " +
               to_string(together.shape) + " beside others";
    const bool equal = is_real(alone.type) ? equal_reals(alone, together, tolerance_of(alone.type, single))
                                           : equal_bytes(alone, together);
    if (equal) return std::nullopt;
    return "output '" + output + "' of a row differs beside other rows";
}

probe_result probe_batching(backend_model& model, batching_options::mode choice, clock::duration most_time) {
    if (choice == batching_options::mode::off) return {false, "batching is turned off"};
    if (auto obstacle = batching_obstacle(model.spec())) {
        if (choice == batching_options::mode::on)
            throw exception(errc::invalid_request,
                            "batching cannot be on for model '" + model.spec().name + "': " + *obstacle);
        return {false, std::move(*obstacle)};
    }
    if (choice == batching_options::mode::on) return {true, "batching was asked for"};
    if (const auto known = model.rows_are_independent())
        return {*known, *known ? "the backend says that rows are independent"
                               : "the backend says that rows influence each other"};
    return try_rows(model, most_time);
}

}  // namespace asio_infer
