#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string_view>
#include <vector>

namespace load {

using clock = std::chrono::steady_clock;

/// Latencies of one kind of answers.
class latencies {
public:
    void add(clock::duration took) { ms_.push_back(std::chrono::duration<double, std::milli>(took).count()); }

    /// As a JSON object of milliseconds; sorts them.
    void print(std::ostream& out) {
        std::sort(ms_.begin(), ms_.end());
        out << "{\"count\":" << ms_.size();
        for (const auto& [name, share] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1.0}})
            out << ",\"" << name << "_ms\":" << at(share);
        out << "}";
    }

private:
    double at(double share) const {
        if (ms_.empty()) return 0;
        const auto index = static_cast<std::size_t>(share * static_cast<double>(ms_.size()));
        return ms_[std::min(index, ms_.size() - 1)];
    }
    std::vector<double> ms_;
};

/// What became of the requests.
struct tally {
    std::map<int, std::uint64_t> answered;  ///< by status
    std::uint64_t sent = 0;
    std::uint64_t unsent = 0;               ///< due, but no connection was free and no more were allowed
    std::uint64_t wrong = 0;                ///< 200 with another body than expected
    std::uint64_t without_retry_after = 0;  ///< 429 and 503 without that header
    std::uint64_t broken = 0;               ///< the connection ended before the answer was whole
    std::uint64_t unanswered = 0;           ///< still outstanding when the patience at the end was over
    latencies good;                         ///< of 200
    latencies refused;                      ///< of all others
    latencies probes;
    std::uint64_t probes_failed = 0;
};

}  // namespace load
