#include "fuzz/support/http1_play.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "fuzz/support/demand.hpp"

namespace asio_infer::fuzz {
namespace {

using testing::http_answer;
using testing::http_answer_reader;
using testing::seen_request;

constexpr std::size_t endless = std::size_t{1} << 40;
constexpr std::size_t usual_budget = std::size_t{1} << 20;
constexpr std::size_t tight_budget = 2'048;
/// What the session may offer to read into besides a body: its own input buffer.
constexpr std::size_t read_buffer_limit = std::size_t{128} << 10;

/// Behind the target of its request, by which it is recognised: nothing, what is still copied behind the headers,
/// what is not, or a part of its own.
std::string padding_of(unsigned amount) {
    constexpr std::array<std::size_t, 3> sizes{0, 100, 20'000};
    return std::string(sizes[amount % sizes.size()], '#');
}

buffer part_of(std::size_t size) {
    unique_buffer part(size);
    std::memset(part.data(), '#', size);
    return std::move(part).share();
}

std::size_t bytes_under_way(const testing::fake_handler& handler) {
    std::size_t bytes = 0;
    for (const exchange* x : handler.open) bytes += x->request.body.size();
    return bytes;
}

bool answers_request(const http_answer& answer, const seen_request& request) {
    if (request.method == verb::head) return answer.body.empty();
    const std::string_view body = answer.body;
    return body.starts_with(request.target) && body.find_first_not_of('#', request.target.size()) == body.npos;
}

/// The next final answer; the interim ones before it are taken off.
std::optional<http_answer> next_final(http_answer_reader& reader, bool without_body) {
    for (;;) {
        std::optional<http_answer> answer = reader.next(without_body);
        if (!answer || answer->status >= 200) return answer;
        demand(answer->status == 100, "the only interim answer is 100");
        demand(answer->headers.empty(), "an interim answer has no headers");
    }
}

/// Answers of the requests that were handed over; returns how many there were.
std::size_t check_handed_over(http_answer_reader& reader, const std::vector<seen_request>& seen, bool& last) {
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const auto answer = next_final(reader, seen[i].method == verb::head);
        if (!answer) return i;
        demand(!last, "nothing is answered behind \"Connection: close\"");
        last = answer->header("connection") == "close";
        // The budget may have no room for an answer.
        demand(answer->status == 200 || answer->status == 503, "an answer is the handler's, or says why it is not");
        demand(answer->status != 200 || answers_request(*answer, seen[i]), "answers come in the order of the requests");
    }
    return seen.size();
}

/// The refusal behind them; false if there is none.
bool check_refusal(http_answer_reader& reader, bool last) {
    auto answer = next_final(reader, false);
    if (!answer) answer = next_final(reader, true);  // of a HEAD
    if (!answer) return false;
    demand(!last, "nothing is refused behind \"Connection: close\"");
    demand(answer->status >= 400, "a refusal says so");
    demand(answer->header("connection") == "close", "a refusal ends the connection");
    return true;
}

}  // namespace

limits limits_of(const http1_script& script) {
    limits bounds;
    bounds.max_body_bytes = std::size_t{256} << 10;
    bounds.max_pipelined_requests = 8;
    if (script.has(http1_script::tight_limits)) {
        bounds.max_header_bytes = 256;
        bounds.max_body_bytes = 1'024;
        bounds.max_pipelined_requests = 2;
    }
    return bounds;
}

http1_play::http1_play(const http1_script& script)
    : script_(script),
      fixture_(limits_of(script), script.has(http1_script::tight_limits) ? tight_budget : usual_budget),
      session_(*fixture_.session),
      stream_(script.stream),
      room_(script.has(http1_script::slow_peer) ? 0 : endless) {
    fixture_.handler.answers_at_once = !script.has(http1_script::answers_late);
    fixture_.handler.complete_on_cancel = script.has(http1_script::ends_on_cancel);
}

void http1_play::run() {
    for (const char byte : script_.events) play(http1_event::of(static_cast<std::uint8_t>(byte)));
}

void http1_play::play(http1_event event) {
    using enum http1_event::kind;
    switch (event.what) {
        case read:
            this->read((event.amount + 1) * (event.amount + 1));
            break;
        case begin_read:
            this->begin_read();
            break;
        case answer:
            if (!fixture_.handler.open.empty()) this->answer(event.amount % fixture_.handler.open.size(), event.amount);
            break;
        case make_room:
            room_ = event.amount == 31 ? endless : room_ + 32 * event.amount;
            blocked_ = false;
            flush();
            break;
        case switch_reply:
            fixture_.handler.answers_at_once = !fixture_.handler.answers_at_once;
            break;
        case pass_time:
            this->pass_time(event.amount);
            break;
        case end_peer:
            this->end_peer(event.amount >= 16);
            break;
        case stop:
            this->stop(event.amount / 8);
            break;
    }
}

void http1_play::begin_read() {
    if (closed_ || session_.over() || !reading_.empty()) return;
    reading_ = session_.prepare();
    demand(reading_.size() <= std::max(read_buffer_limit, fixture_.bounds.max_body_bytes),
           "a read is no longer than the limits allow");
}

bool http1_play::read(std::size_t most) {
    begin_read();
    const std::size_t n = std::min({most, reading_.size(), stream_.size()});
    if (n == 0 || closed_) return false;
    std::memcpy(reading_.data(), stream_.data(), n);
    stream_.remove_prefix(n);
    reading_ = {};
    session_.received(n, fixture_.now);
    after_call();
    return true;
}

void http1_play::answer(std::size_t index, unsigned amount) {
    exchange& x = *fixture_.handler.open.at(index);
    std::vector<buffer> parts;
    if ((amount & 4) != 0) parts.push_back(part_of(amount * 10));
    fixture_.handler.answer(x, x.request.target + padding_of(amount), std::move(parts));
    after_call();
}

void http1_play::pass_time(unsigned amount) {
    const time_point due = session_.deadline();
    if (amount < 31)
        fixture_.now += std::chrono::milliseconds(1U << std::min(amount, 20U));
    else if (due != no_deadline)
        fixture_.now = std::max(fixture_.now, due);
    if (closed_ || due > fixture_.now) return;
    session_.deadline_passed(fixture_.now);
    demand(session_.over() || session_.deadline() > fixture_.now, "a deadline that has passed is not due again");
    after_call();
}

void http1_play::end_peer(bool gone) {
    if (gone) {
        session_.peer_gone();
        gone_ = true;
    } else {
        begin_read();
        if (reading_.empty() || closed_) return;  // the end of the stream is what a read finds
        reading_ = {};
        session_.peer_finished(fixture_.now);
    }
    after_call();
}

void http1_play::stop(unsigned how) {
    if (how == 0) session_.retire(fixture_.now);
    if (how == 1) take_budget();
    if (how == 2) give_budget_back();
    if (how == 3) session_.drain(fixture_.now);
    after_call();
}

void http1_play::take_budget() {
    const std::size_t left = fixture_.budget.limit() - fixture_.budget.used();
    if (fixture_.budget.try_take(left)) taken_ += left;
}

void http1_play::give_budget_back() {
    fixture_.budget.give_back(std::exchange(taken_, 0));
    fixture_.host.executor.run_all();
}

void http1_play::after_call() {
    flush();
    check_now();
}

void http1_play::flush() {
    while (!blocked_ && !closed_) {
        std::array<std::span<const std::byte>, 16> pieces;
        const std::size_t count = session_.to_send(pieces);
        if (count == 0) break;
        std::size_t n = 0;
        for (std::size_t i = 0; i < count; ++i) {
            demand(!pieces[i].empty(), "there are no empty pieces to send");
            const std::size_t part = std::min(room_ - n, pieces[i].size());
            fixture_.output.append(reinterpret_cast<const char*>(pieces[i].data()), part);
            n += part;
        }
        room_ -= n;
        blocked_ = n == 0;
        session_.sent(n, fixture_.now);
    }
    if (!session_.over()) return;
    closed_ = true;
    gone_ = gone_ || !session_.send_side_over();  // a deadline has ended it
}

void http1_play::check_now() {
    demand(fixture_.budget.used() <= fixture_.budget.limit(), "the budget is kept");
    demand(fixture_.handler.open.size() <= fixture_.bounds.max_pipelined_requests,
           "no more requests are under way than the limit allows");
    demand(bytes_under_way(fixture_.handler) <= fixture_.budget.used(), "the budget counts what is under way");
    demand(!session_.over() || closed_, "what is over is closed");
    if (!refused_for_good()) return;
    if (seen_at_refusal_ == npos) seen_at_refusal_ = fixture_.handler.seen.size();
    demand(fixture_.handler.seen.size() == seen_at_refusal_, "nothing is handed over after a refusal");
}

void http1_play::settle() {
    room_ = endless;
    blocked_ = false;
    flush();
    for (bool moves = true; moves;) {
        give_budget_back();
        after_call();
        moves = read(endless);
        while (!fixture_.handler.open.empty()) {
            answer(0, 0);
            moves = true;
        }
    }
    check_now();
    if (!cut()) demand(session_.to_send({}) == 0, "all is sent");
    demand(fixture_.handler.open.empty(), "the handler has answered everything");
}

bool http1_play::met_budget() const noexcept {
    const auto& refused = fixture_.handler.refused;
    return std::any_of(refused.begin(), refused.end(), [](const error& e) { return e.code == errc::unavailable; });
}

bool http1_play::refused_for_good() const noexcept {
    const auto& refused = fixture_.handler.refused;
    return std::any_of(refused.begin(), refused.end(), [](const error& e) { return e.code != errc::unavailable; });
}

void check_answers(const http1_play& play) try {
    const auto& handler = play.handler();
    http_answer_reader reader;
    reader.append(play.output());
    bool last = false;
    const std::size_t answered = check_handed_over(reader, handler.seen, last);
    if (play.cut()) return;
    demand(answered == handler.seen.size(), "every request that was handed over is answered");
    if (check_refusal(reader, last))
        demand(!handler.refused.empty(), "a refusal is the handler's");
    else
        demand(!play.refused_for_good(), "a refusal is answered");
    demand(reader.rest().empty(), "nothing follows the last answer");
} catch (const std::runtime_error& e) {
    broken(std::string("answers are well-formed: ") + e.what());
}

}  // namespace asio_infer::fuzz
