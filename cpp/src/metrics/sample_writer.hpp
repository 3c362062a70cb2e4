#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/model_stats.hpp"
#include "metrics/metric_set.hpp"

namespace asio_infer {

struct metric_label {
    std::string_view name;
    std::string_view value;  ///< any text: it is escaped
};

/// Writes one metric in the Prometheus text format: HELP and TYPE before its first sample, so that a metric without
/// samples leaves no trace.
class sample_writer {
public:
    using labels = std::initializer_list<metric_label>;

    sample_writer(std::string& out, const metric& of) noexcept : out_(out), metric_(of) {}

    template <std::integral Value>
    void sample(labels with, Value value) {
        using widest = std::conditional_t<std::is_signed_v<Value>, std::int64_t, std::uint64_t>;
        begin_line({}, with, {});
        append_value(widest{value});
        out_ += '\n';
    }
    void sample(labels with, double value) {
        begin_line({}, with, {});
        append_value(value);
        out_ += '\n';
    }

    /// Cumulative buckets, sum and count; the count is that of the last bucket, so that they agree while others
    /// record.
    template <std::size_t N>
    void distribution(labels with, const histogram<N>& values) {
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < N; ++i) {
            seen += values.count(i);
            bucket(with, values.bounds()[i], seen);
        }
        seen += values.count(N);
        totals(with, values.sum(), seen);
    }

private:
    void begin_line(std::string_view suffix, labels with, std::string_view upper_bound);
    void append_labels(labels with, std::string_view upper_bound);
    void append_value(std::uint64_t value);
    void append_value(std::int64_t value);
    void append_value(double value);
    void bucket(labels with, double upper_bound, std::uint64_t count);
    void totals(labels with, double sum, std::uint64_t count);

    std::string& out_;
    const metric& metric_;
    bool described_ = false;
};

}  // namespace asio_infer
