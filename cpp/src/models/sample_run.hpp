#pragma once

#include <asio_infer/backend.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace asio_infer {

/// How made-up inputs look, for trying a model out before anybody uses it.
struct sample_style {
    std::int64_t dim = 8;           ///< size of dimensions that are dynamic and not the rows
    std::uint32_t integer_max = 9;  ///< integers are from 0 to this: they may be indices
};

/// Styles to try one after another until the model runs: small tensors, fewer values, large enough for pooling.
inline constexpr sample_style sample_styles[] = {{8, 9}, {8, 1}, {64, 9}, {1, 1}};

/// Most bytes of one call's inputs.
inline constexpr std::size_t most_sample_bytes = std::size_t{64} << 20;

/// A call with `rows` rows of values that depend on `seed` only: every input that must be given, every output that can
/// travel. Values of different seeds differ, also in magnitude. Nothing if the inputs would be larger than
/// `most_sample_bytes`.
std::optional<infer_call> make_sample_call(const model_spec& spec, const sample_style& style, std::uint32_t rows,
                                           std::uint32_t seed);

/// The outputs of the model that can travel, ascending.
std::vector<std::uint32_t> all_outputs(const model_spec& spec);

/// Runs the calls together on the instance and waits. `took` gets the runtime's part.
result<std::vector<tensor>> run_sample(backend_instance& instance, const model_spec& spec,
                                       std::span<infer_call* const> calls, clock::duration& took);

}  // namespace asio_infer
