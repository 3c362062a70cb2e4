#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status_table.hpp"
#include "protocol/http1/http1_session.hpp"
#include "support/http_answers.hpp"

namespace asio_infer::testing {

/// The connection's thread: runs what was posted to it when the test says so.
struct manual_executor final : task_executor {
    void post(task& work) noexcept override { posted.push_back(&work); }
    bool here() const noexcept override { return true; }
    void run_all() {
        while (!posted.empty()) {
            task* const next = posted.front();
            posted.pop_front();
            next->run();
        }
    }
    std::deque<task*> posted;
};

/// What came to the handler, copied: the exchange is reused.
struct seen_request {
    verb method;
    std::string method_name;
    std::string target;
    std::string body;
    std::string content_type;
    std::string request_id;
    time_point arrived;
    bool body_aligned;  ///< to tensor_alignment

    static seen_request of(const exchange& x) {
        const request_message& r = x.request;
        return {r.method,
                r.method_name,
                r.target,
                {reinterpret_cast<const char*>(r.body.data()), r.body.size()},
                std::string(r.headers[header::content_type]),
                std::string(r.headers[header::request_id]),
                x.arrived,
                r.body.aligned()};
    }
};

struct fake_handler final : request_handler {
    /// Counts its cancellations; completes its exchange inside the call if it is told to.
    struct fake_operation final : operation {
        fake_operation(fake_handler& h, exchange& e) : handler(h), x(e) {}
        void cancel() noexcept override {
            ++handler.cancellations;
            if (handler.complete_on_cancel) handler.answer(x, "cancelled");
        }
        fake_handler& handler;
        exchange& x;
    };

    rpc_kind kind_of_rpc(std::string_view) const noexcept override { return rpc_kind::unknown; }
    result<void> admit(const request_message&) const noexcept override {
        if (admission) return *admission;
        return {};
    }
    std::size_t tensor_start(const request_message& header, std::string_view) const noexcept override {
        const std::string_view text = header.headers[header::inference_header_content_length];
        std::size_t at = 0;
        std::from_chars(text.data(), text.data() + text.size(), at);
        return at <= std::size_t{64} << 20 ? at : 0;
    }
    void handle(exchange& x) noexcept override {
        seen.push_back(seen_request::of(x));
        x.pending = std::make_unique<fake_operation>(*this, x);
        open.push_back(&x);
        if (answers_at_once) answer(x, seen.back().target);
    }
    void refuse(const error& e, exchange& x) noexcept override {
        refused.push_back(e);
        x.response.status = status_of(e.code).http;
        x.response.text = e.message;
    }

    /// Answers the request, which need not be the oldest.
    void answer(exchange& x, std::string text, std::vector<buffer> parts = {}) noexcept {
        std::erase(open, &x);
        x.response.text = std::move(text);
        x.response.parts = std::move(parts);
        x.complete();
    }
    void answer(std::size_t index, std::string text) { answer(*open.at(index), std::move(text)); }

    std::vector<seen_request> seen;
    std::vector<error> refused;
    std::vector<exchange*> open;     ///< not answered yet, in the order of arrival
    std::optional<error> admission;  ///< why nothing is let in
    int cancellations = 0;
    bool answers_at_once = false;
    bool complete_on_cancel = false;
};

struct fake_host final : session_host {
    task_executor& home() noexcept override { return executor; }
    time_point now() const noexcept override { return time; }
    void session_changed() noexcept override { ++changes; }
    void become(std::unique_ptr<session> next) noexcept override { successor = std::move(next); }
    manual_executor executor;
    time_point time{std::chrono::hours(1)};
    int changes = 0;
    std::unique_ptr<asio_infer::session> successor;
};

/// A session between a peer that the test plays and a handler that the test plays, with a clock that the test sets.
struct session_fixture {
    explicit session_fixture(limits l = {}, std::size_t budget_bytes = std::size_t{1} << 20)
        : bounds(l), budget(budget_bytes), session(std::make_unique<http1::http1_session>(context, host, now)) {}
    ~session_fixture() {
        session->peer_gone();
        while (!handler.open.empty()) handler.answer(0, "late");
        host.executor.run_all();
        CHECK(session->quiet());
        session.reset();
        CHECK(budget.used() == 0);
    }
    session_fixture(const session_fixture&) = delete;
    session_fixture& operator=(const session_fixture&) = delete;

    /// Lets the session read, at most `piece` bytes at a time; returns how many it wanted.
    std::size_t feed(std::string_view bytes, std::size_t piece = std::string_view::npos) {
        std::size_t taken = 0;
        while (taken < bytes.size()) {
            const std::span<std::byte> room = session->prepare();
            if (room.empty()) break;
            const std::size_t n = std::min({piece, room.size(), bytes.size() - taken});
            std::memcpy(room.data(), bytes.data() + taken, n);
            session->received(n, now);
            taken += n;
        }
        return taken;
    }
    /// Sends at most `most` bytes of what the session has to send, as one write; returns how many it were.
    std::size_t send_some(std::size_t most = std::string_view::npos) {
        std::array<std::span<const std::byte>, 4> pieces;
        const std::size_t count = session->to_send(pieces);
        std::size_t n = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t part = std::min(most - n, pieces[i].size());
            output.append(reinterpret_cast<const char*>(pieces[i].data()), part);
            n += part;
        }
        if (count > 0) session->sent(n, now);
        return n;
    }
    void send_all(std::size_t piece = std::string_view::npos) {
        while (send_some(piece) > 0) {
        }
    }
    /// Sends everything and returns all that has been sent so far.
    std::vector<http_answer> answers() {
        send_all();
        return parse_answers(output);
    }
    /// Moves the clock to the deadline, which must be `after` from now, and lets the session act.
    void pass_deadline(clock::duration after) {
        REQUIRE(session->deadline() == now + after);
        now += after;
        session->deadline_passed(now);
    }
    std::vector<std::string> targets() const {
        std::vector<std::string> all;
        for (const seen_request& each : handler.seen) all.push_back(each.target);
        return all;
    }

    limits bounds;
    byte_budget budget;
    server_stats stats;
    fake_handler handler;
    fake_host host;
    session_context context{handler, bounds, budget, stats};
    time_point& now = host.time;
    std::unique_ptr<http1::http1_session> session;
    std::string output;
};

inline std::string get(const std::string& target, const std::string& more = {}) {
    return "GET " + target + " HTTP/1.1\r\nHost: h\r\n" + more + "\r\n";
}
inline std::string post(const std::string& target, const std::string& body, const std::string& more = {}) {
    return "POST " + target + " HTTP/1.1\r\nHost: h\r\n" + more + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}
inline std::string chunked(const std::string& target, const std::string& chunks, const std::string& more = {}) {
    return "POST " + target + " HTTP/1.1\r\nHost: h\r\n" + more + "Transfer-Encoding: chunked\r\n\r\n" + chunks;
}
/// `body` as chunks of `size` bytes.
inline std::string to_chunks(std::string_view body, std::size_t size) {
    std::string out;
    for (std::size_t at = 0; at < body.size(); at += size) {
        const std::string_view part = body.substr(at, size);
        char digits[16];
        const auto end = std::to_chars(digits, digits + sizeof digits, part.size(), 16).ptr;
        out.append(digits, end).append("\r\n").append(part).append("\r\n");
    }
    return out + "0\r\n\r\n";
}
/// Bytes that differ from place to place.
inline std::string pattern(std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 7 + i / 251);
    return out;
}

}  // namespace asio_infer::testing
