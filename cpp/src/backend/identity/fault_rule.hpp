#pragma once

#include <asio_infer/dtype.hpp>
#include <asio_infer/tensor.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace asio_infer {

/// Which runs of an identity model fail, for tests: "" (none), "always", "nth:N" (every N-th run), or "row:VALUE" (a
/// run in which the first element of any row of any input is VALUE).
class fault_rule {
public:
    fault_rule() = default;
    /// Throws invalid_request if the text is none of these, or VALUE none of the type.
    fault_rule(std::string_view text, dtype type);

    /// Whether run number `number`, counted from 1, fails whatever it holds.
    bool fails_by_number(std::uint64_t number) const noexcept { return every_ > 0 && number % every_ == 0; }
    /// Whether a row of the input makes its run fail.
    bool fails_by_row(const tensor& input) const;

private:
    std::uint64_t every_ = 0;
    std::optional<std::string> row_text_;  ///< for BYTES
    std::optional<double> row_number_;     ///< for the other types
};

}  // namespace asio_infer
