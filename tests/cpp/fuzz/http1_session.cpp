#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/support/demand.hpp"
#include "fuzz/support/http1_play.hpp"
#include "fuzz/support/http1_reference.hpp"
#include "fuzz/support/memory_meter.hpp"

namespace {

using namespace asio_infer;
using namespace asio_infer::fuzz;

/// What of a play does not depend on how the bytes were cut.
struct course {
    struct request {
        std::string method;
        std::string target;
        std::string body;
        std::string content_type;
        std::string request_id;
        bool operator==(const request&) const = default;
    };
    std::vector<request> requests;
    std::vector<errc> refusals;
    bool met_budget = false;

    /// The same requests, and no different refusal behind them. One may be missing: half a line is looked at only when
    /// other lines come with it.
    bool agrees_with(const course& other) const {
        return requests == other.requests && (refusals.empty() || other.refusals.empty() || refusals == other.refusals);
    }
};

course course_of(const http1_play& play) {
    course c;
    for (const testing::seen_request& each : play.handler().seen)
        c.requests.push_back({each.method_name, each.target, each.body, each.content_type, each.request_id});
    for (const error& each : play.handler().refused) c.refusals.push_back(each.code);
    c.met_budget = play.met_budget();
    return c;
}

/// What the session, its fakes and the copies that they make may take; what a request only announces is not in it.
std::size_t memory_limit(const http1_script& script, const http1_play& play) {
    return (std::size_t{2} << 20) + 16 * (script.stream.size() + play.output().size());
}

course play_events(const http1_script& script) {
    const memory_meter meter;
    http1_play play(script);
    play.run();
    play.settle();
    check_answers(play);
    demand(meter.peak_bytes() <= memory_limit(script, play), "memory is within the budget");
    return course_of(play);
}

/// The whole stream, cut into reads of one size, with a handler that answers at once and a peer that reads.
course play_evenly(const http1_script& script, std::size_t piece) {
    const http1_script undisturbed{
        static_cast<std::uint8_t>(script.settings & http1_script::tight_limits), {}, script.stream};
    http1_play play(undisturbed);
    while (play.read(piece)) {
    }
    play.settle();
    check_answers(play);
    return course_of(play);
}

/// The session may refuse more than a plain reader does, but it reads no request where that one reads another.
void check_reading(const course& taken, const http1_reading& plain) {
    const std::size_t both = std::min(taken.requests.size(), plain.requests.size());
    for (std::size_t i = 0; i < both; ++i) {
        demand(taken.requests[i].method == plain.requests[i].method, "the method is what a plain reader reads");
        demand(taken.requests[i].target == plain.requests[i].target, "the target is what a plain reader reads");
        demand(taken.requests[i].body == plain.requests[i].body, "the body is what a plain reader reads");
    }
    demand(both == plain.requests.size() || !taken.refusals.empty(), "what a plain reader reads is taken or refused");
    demand(both == taken.requests.size() || plain.end != http1_reading::ending::refused, "a framing is refused");
    demand(both == taken.requests.size() || plain.end != http1_reading::ending::closed, "nothing follows the last");
}

}  // namespace

// The input is a script (support/http1_script.hpp): how the connection goes on, and the bytes that come by it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const http1_script script = http1_script::of({reinterpret_cast<const char*>(data), size});
    const course as_told = play_events(script);
    if (script.disturbs()) return 0;
    const course whole = play_evenly(script, script.stream.size());
    check_reading(whole, read_plainly(script.stream, limits_of(script)));
    const course bytewise = play_evenly(script, 1);
    if (whole.met_budget || bytewise.met_budget || as_told.met_budget) return 0;
    demand(whole.agrees_with(bytewise), "where the stream is cut changes no request");
    demand(whole.agrees_with(as_told), "when requests are answered changes no request");
    return 0;
}
