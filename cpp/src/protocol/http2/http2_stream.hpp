#pragma once

#include <boost/intrusive/list_hook.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/byte_budget.hpp"
#include "core/exchange.hpp"
#include "core/progress_limit.hpp"
#include "protocol/http2/arriving_body.hpp"
#include "protocol/http2/field_list.hpp"
#include "protocol/http2/request_head.hpp"
#include "protocol/http2/send_queue.hpp"
#include "protocol/session_context.hpp"

namespace asio_infer::http2 {

class http2_stream;

/// What a stream needs of its session.
class stream_owner {
public:
    virtual const session_context& context() const noexcept = 0;
    virtual task_executor& home() noexcept = 0;
    virtual time_point now() const noexcept = 0;
    /// The client may send so many more bytes of this stream's body.
    virtual void grant(const http2_stream& s, std::size_t bytes) noexcept = 0;
    /// Sends an interim header (a 1xx status).
    virtual void send_interim(const http2_stream& s, const field_list& fields) noexcept = 0;
    /// Sends the answer's header; `ends`: nothing follows it. Otherwise what is, or will be, in the stream's output.
    virtual void send_header(http2_stream& s, const field_list& fields, bool ends) noexcept = 0;
    /// Sends the trailer behind the output, which is complete.
    virtual void send_trailer(const http2_stream& s, const field_list& fields) noexcept = 0;
    /// There is more output, or it is complete.
    virtual void send_more(const http2_stream& s) noexcept = 0;
    virtual void reset(const http2_stream& s, std::uint32_t code) noexcept = 0;
    /// Something has changed that the session's loop should see: output, or a stream that may go.
    virtual void changed() noexcept = 0;

protected:
    ~stream_owner() = default;
};

using stream_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<class of_session>>;

/// One stream: a request that arrives, and the answer on its way out. Lives, owned by the session, until it is closed
/// and idle. Everything on the connection's thread.
///
/// Flow control: the client may send what the budget has bytes for. What has been granted and has not come is leased
/// already, but for the first window, which every stream has (RFC 9113, 6.9.2); so half bodies hold little, and one
/// that waits for bytes holds up no other stream of its connection.
class http2_stream : public stream_hook, private byte_budget::waiter, private task {
public:
    http2_stream(stream_owner& owner, std::int32_t id) noexcept;
    virtual ~http2_stream() = default;
    http2_stream(const http2_stream&) = delete;
    http2_stream& operator=(const http2_stream&) = delete;

    std::int32_t id() const noexcept { return id_; }

    // What the session tells.

    /// The header is complete. `ends`: no body follows. Once, first. Takes the request out of `head`.
    void start(request_head& head, bool ends) {
        request_ended_ = ends;
        begin(head);
    }
    /// A part of the body. Throws std::bad_alloc.
    void data(std::span<const std::byte> bytes);
    /// The body is complete.
    void end_of_data();
    /// A request that is half there, or whose messages have no end, is ended: the server stops.
    virtual void wind_down() noexcept = 0;
    /// No memory: the request is refused.
    virtual void out_of_memory() noexcept = 0;
    /// The stream is closed, by either side: what is under way is cancelled. Once.
    void closed() noexcept;
    bool is_closed() const noexcept { return closed_; }
    /// Whether the client's part is complete.
    bool request_ended() const noexcept { return request_ended_; }
    /// Whether the answer has begun.
    bool answering() const noexcept { return answering_; }
    /// No exchange is under way, and nobody will call: once closed, it may be destroyed.
    bool idle() const noexcept { return !awaits_bytes_ && !busy(); }

    // The answer's bytes, which the session takes as the client's window allows.

    std::size_t output_size() const noexcept { return output_.size(); }
    bool output_complete() const noexcept { return output_complete_; }
    /// Whether a trailer, which has been submitted then, ends the stream.
    bool has_trailer() const noexcept { return has_trailer_; }
    /// Called when the session has reached the end of the output.
    virtual void submit_trailer() noexcept {}
    void take_output(send_queue& to, std::size_t n);

    time_point deadline() const noexcept;
    void deadline_passed(time_point now) noexcept;

protected:
    const session_context& context() const noexcept { return owner_.context(); }

    /// Precondition: request_ended() tells whether a body follows.
    virtual void begin(request_head& head) = 0;
    virtual void take(std::span<const std::byte> bytes) = 0;
    virtual void request_complete() = 0;
    /// The client takes no answer any more.
    virtual void cancel() noexcept = 0;
    virtual bool busy() const noexcept = 0;
    /// The request fails for this reason, which is the protocol's own.
    virtual void refuse(const error& why) noexcept = 0;
    /// The budget has bytes again, or the output has become shorter.
    virtual void go_on() {}
    virtual time_point own_deadline() const noexcept { return no_deadline; }
    virtual void own_deadline_passed(time_point) noexcept {}

    /// Makes the budget cover `n` more bytes of the body, or refuses the request.
    bool cover(arriving_body& body, std::size_t n) noexcept;
    /// Lets the client send on. `expected`: how many bytes are still to come at the most.
    void keep_window(arriving_body& body, std::size_t expected) noexcept;
    /// The time that a body may take runs, or does not.
    void expect_bytes(bool expected) noexcept;

    /// Nothing of the request is waited for any more.
    void stop_receiving() noexcept;

    /// Sends the header of the answer.
    void answer(const field_list& fields, bool ends) noexcept;
    /// More output, which takes its bytes from the budget. False, and no change, if that has none.
    bool lease_output(std::size_t more) noexcept;
    template <class Bytes>
    void put(Bytes&& bytes) {
        output_.append(std::forward<Bytes>(bytes));
    }
    /// What was put is to be sent; `complete`: nothing follows but a trailer, if there is one.
    void send(bool complete, bool trailer) noexcept;
    error no_bytes_left(std::size_t wanted) const;

    stream_owner& owner_;

private:
    void room_made() noexcept override { owner_.home().post(*this); }
    void run() noexcept override;
    void end_wait_for_bytes() noexcept;

    const std::int32_t id_;
    std::uint64_t received_ = 0;
    std::uint64_t granted_;
    progress_limit body_progress_;
    progress_limit answer_progress_;
    send_queue output_;
    byte_lease output_lease_;
    bool output_complete_ = false;
    bool has_trailer_ = false;
    bool request_ended_ = false;
    bool answering_ = false;
    bool closed_ = false;
    bool awaits_bytes_ = false;  ///< the budget, or a task that it has posted, will call
};

}  // namespace asio_infer::http2
