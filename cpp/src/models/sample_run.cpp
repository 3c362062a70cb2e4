#include "models/sample_run.hpp"

#include <cstring>
#include <limits>
#include <semaphore>
#include <string>
#include <utility>

#include "core/half.hpp"

namespace asio_infer {
namespace {

/// SplitMix64: small, seeded, the same on every system.
class random_source {
public:
    explicit random_source(std::uint64_t seed) noexcept : state_(seed) {}
    std::uint64_t next() noexcept {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
        return z ^ z >> 31;
    }
    /// From -1 to 1.
    double real() noexcept { return static_cast<double>(next() >> 11) * 0x1p-52 - 1; }
    std::uint64_t up_to(std::uint64_t most) noexcept { return next() % (most + 1); }

private:
    std::uint64_t state_;
};

template <class T>
void put(std::byte*& to, T value) noexcept {
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
}

/// What one tensor is filled with.
struct filling {
    random_source random;
    std::uint32_t seed;
    std::uint32_t integer_max;

    double real() noexcept { return random.real() * (seed + 1); }
    template <class Integer>
    Integer integer() noexcept {
        return static_cast<Integer>(random.up_to(integer_max));
    }
    /// Rows of even and odd seeds differ from the first element on.
    std::uint8_t truth(std::size_t index) noexcept {
        return static_cast<std::uint8_t>(index == 0 ? seed % 2 : random.up_to(1));
    }
};

void put_element(std::byte*& to, dtype type, std::size_t index, filling& f) noexcept {
    switch (type) {
        case dtype::boolean:
            return put(to, f.truth(index));
        case dtype::uint8:
            return put(to, f.integer<std::uint8_t>());
        case dtype::uint16:
            return put(to, f.integer<std::uint16_t>());
        case dtype::uint32:
            return put(to, f.integer<std::uint32_t>());
        case dtype::uint64:
            return put(to, f.integer<std::uint64_t>());
        case dtype::int8:
            return put(to, f.integer<std::int8_t>());
        case dtype::int16:
            return put(to, f.integer<std::int16_t>());
        case dtype::int32:
            return put(to, f.integer<std::int32_t>());
        case dtype::int64:
            return put(to, f.integer<std::int64_t>());
        case dtype::fp16:
            return put(to, round_to_fp16(f.real()).bits);
        case dtype::fp32:
            return put(to, static_cast<float>(f.real()));
        case dtype::fp64:
            return put(to, f.real());
        case dtype::bf16:
            return put(to, round_to_bf16(f.real()).bits);
        case dtype::bytes: {
            put(to, std::uint32_t{1});
            return put(to, static_cast<char>('a' + f.integer<char>()));
        }
    }
}

std::size_t sample_element_size(dtype type) noexcept {
    return type == dtype::bytes ? sizeof(std::uint32_t) + 1 : element_size(type);
}

bool leads_an_input(const model_spec& spec, const std::string& symbol) {
    for (const tensor_spec& input : spec.inputs)
        if (!input.symbols.empty() && !symbol.empty() && input.symbols.front() == symbol) return true;
    return false;
}

asio_infer::shape sample_shape(const model_spec& spec, const tensor_spec& input, const sample_style& style,
                               std::uint32_t rows) {
    asio_infer::shape dims = input.shape;
    if (input.any_rank) dims.push_back(-1);
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] >= 0) continue;
        const bool is_rows = i == 0 || (i < input.symbols.size() && leads_an_input(spec, input.symbols[i]));
        dims[i] = is_rows ? std::int64_t{rows} : style.dim;
    }
    return dims;
}

std::optional<std::size_t> bytes_of(const asio_infer::shape& dims, dtype type) noexcept {
    const auto count = element_count(dims);
    const std::size_t size = sample_element_size(type);
    if (!count || *count > most_sample_bytes / size) return std::nullopt;
    return *count * size;
}

tensor filled(dtype type, asio_infer::shape dims, std::size_t bytes, filling f) {
    unique_buffer memory(bytes);
    const std::size_t count = bytes / sample_element_size(type);
    std::byte* to = memory.data();
    for (std::size_t i = 0; i < count; ++i) put_element(to, type, i, f);
    return {type, std::move(dims), std::move(memory).share()};
}

class waiting_receiver final : public run_receiver {
public:
    void on_run_done(run_job&) noexcept override { done_.release(); }
    void wait() noexcept { done_.acquire(); }

private:
    std::binary_semaphore done_{0};
};

}  // namespace

std::optional<infer_call> make_sample_call(const model_spec& spec, const sample_style& style, std::uint32_t rows,
                                           std::uint32_t seed) {
    infer_call call;
    std::size_t total = 0;
    call.request.inputs.reserve(spec.inputs.size());  // the call points into it
    for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
        const tensor_spec& input = spec.inputs[i];
        if (input.optional) {
            call.inputs.push_back(nullptr);
            continue;
        }
        asio_infer::shape dims = sample_shape(spec, input, style, rows);
        const auto bytes = bytes_of(dims, input.type);
        if (!bytes || *bytes > most_sample_bytes - total) return std::nullopt;
        total += *bytes;
        const filling f{random_source(std::uint64_t{seed} << 32 | i), seed, style.integer_max};
        call.request.inputs.push_back({input.name, filled(input.type, std::move(dims), *bytes, f), {}});
        call.inputs.push_back(&call.request.inputs.back().value);
    }
    for (const std::uint32_t index : all_outputs(spec)) call.outputs.push_back({index, true, 0});
    call.rows = rows;
    return call;
}

std::vector<std::uint32_t> all_outputs(const model_spec& spec) {
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = 0; i < spec.outputs.size(); ++i)
        if (spec.outputs[i].unsupported.empty()) indices.push_back(i);
    return indices;
}

result<std::vector<tensor>> run_sample(backend_instance& instance, const model_spec& spec,
                                       std::span<infer_call* const> calls, clock::duration& took) {
    waiting_receiver receiver;
    run_job job;
    job.members.assign(calls.begin(), calls.end());
    job.rows = 0;
    for (const infer_call* call : calls) job.rows += call->rows;
    job.outputs = all_outputs(spec);
    job.run_inline = true;
    job.receiver = &receiver;
    instance.async_run(job);
    receiver.wait();
    took = job.compute_ended - job.compute_started;
    return std::move(job.outcome);
}

}  // namespace asio_infer
