#include "protocol/http2/http2_stream.hpp"

#include <algorithm>
#include <utility>

namespace asio_infer::http2 {

namespace {

constexpr std::uint64_t first_window = 65'535;  ///< RFC 9113, 6.9.2
/// A body is granted at least, and at most, so many bytes ahead of its arrival; in between as many as it has.
constexpr std::size_t least_ahead = 64 * 1024;
constexpr std::size_t most_ahead = 4 * 1024 * 1024;
/// Answers up to this size take nothing from the budget: errors can always be told.
constexpr std::size_t uncounted_answer = 1024;

}  // namespace

http2_stream::http2_stream(stream_owner& owner, std::int32_t id) noexcept
    : owner_(owner),
      id_(id),
      granted_(first_window),
      body_progress_(owner.context().bounds.body_progress_timeout, owner.context().bounds.min_bytes_per_s),
      answer_progress_(owner.context().bounds.write_progress_timeout, owner.context().bounds.min_bytes_per_s),
      output_lease_(owner.context().budget) {}

// The request

void http2_stream::data(std::span<const std::byte> bytes) {
    received_ += bytes.size();
    if (body_progress_.started()) body_progress_.moved(bytes.size(), owner_.now());
    take(bytes);
}

void http2_stream::end_of_data() {
    request_ended_ = true;
    expect_bytes(false);
    request_complete();
}

void http2_stream::expect_bytes(bool expected) noexcept {
    if (!expected)
        body_progress_.stop();
    else if (!body_progress_.started())
        body_progress_.start(owner_.now());
}

bool http2_stream::cover(arriving_body& body, std::size_t n) noexcept {
    const std::size_t needed = body.size() + n;
    if (body.lease.bytes() >= needed || body.lease.resize(needed)) return true;
    refuse(no_bytes_left(n));
    return false;
}

void http2_stream::keep_window(arriving_body& body, std::size_t expected) noexcept {
    const std::uint64_t window = granted_ - std::min(granted_, received_);
    const std::size_t ahead = std::clamp(body.size(), least_ahead, most_ahead);
    if (awaits_bytes_ || window >= expected || window > ahead / 2) return;
    const std::size_t target = std::min(ahead, expected);
    const std::size_t needed = body.size() + target;
    if (body.lease.bytes() >= needed || body.lease.resize(needed)) {
        owner_.grant(*this, target - window);
        granted_ += target - window;
        return;
    }
    if (window > 0) return;  // asked again when that has come
    if (context().budget.only_arriving()) return refuse(no_bytes_left(target));
    awaits_bytes_ = true;
    expect_bytes(false);  // it is not the client who is slow
    context().budget.wait(*this, needed - body.lease.bytes());
}

/// The budget has called.
void http2_stream::run() noexcept {
    awaits_bytes_ = false;
    if (!closed_) {
        expect_bytes(!request_ended_);
        try {
            go_on();
        } catch (const std::bad_alloc&) {
            out_of_memory();
        }
    }
    owner_.changed();
}

void http2_stream::stop_receiving() noexcept {
    end_wait_for_bytes();
    expect_bytes(false);
}

/// Unless the budget has called already: then run() comes.
void http2_stream::end_wait_for_bytes() noexcept {
    if (awaits_bytes_ && context().budget.forget(*this)) awaits_bytes_ = false;
}

error http2_stream::no_bytes_left(std::size_t wanted) const {
    return {errc::unavailable, "the bytes of the requests in flight are at their limit; try again",
            context().budget.seconds_until_free(wanted, owner_.now())};
}

void http2_stream::closed() noexcept {
    closed_ = true;
    stop_receiving();
    answer_progress_.stop();
    output_.clear();
    output_lease_.release();
    cancel();
}

// The answer

void http2_stream::answer(const field_list& fields, bool ends) noexcept {
    answering_ = true;
    output_complete_ = ends;
    if (!closed_) owner_.send_header(*this, fields, ends);
}

bool http2_stream::lease_output(std::size_t more) noexcept {
    const std::size_t wanted = output_.size() + more;
    return wanted <= uncounted_answer || wanted <= output_lease_.bytes() || output_lease_.resize(wanted);
}

void http2_stream::send(bool complete, bool trailer) noexcept {
    if (closed_) return;
    output_complete_ = complete;
    has_trailer_ = trailer;
    if (output_.size() > 0 && !answer_progress_.started()) answer_progress_.start(owner_.now());
    owner_.send_more(*this);
}

void http2_stream::take_output(send_queue& to, std::size_t n) {
    output_.move_to(to, n);
    if (output_.size() == 0) {
        answer_progress_.stop();
        output_lease_.release();
    } else {
        answer_progress_.moved(n, owner_.now());
        if (output_.size() < output_lease_.bytes()) output_lease_.resize(output_.size());
    }
    if (!output_complete_) go_on();
}

// Time

time_point http2_stream::deadline() const noexcept {
    if (closed_) return no_deadline;
    return std::min({body_progress_.deadline(), answer_progress_.deadline(), own_deadline()});
}

void http2_stream::deadline_passed(time_point now) noexcept {
    if (closed_) return;
    if (now >= answer_progress_.deadline()) {
        answer_progress_.stop();
        return owner_.reset(*this, NGHTTP2_CANCEL);
    }
    if (now >= body_progress_.deadline()) {
        expect_bytes(false);
        return refuse({errc::request_timeout, "the request's body came too slowly"});
    }
    if (now >= own_deadline()) own_deadline_passed(now);
}

}  // namespace asio_infer::http2
