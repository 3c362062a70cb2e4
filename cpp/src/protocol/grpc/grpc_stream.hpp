#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/grpc/grpc_message.hpp"
#include "protocol/grpc/message_prefix.hpp"
#include "protocol/http2/http2_stream.hpp"

namespace asio_infer::grpc {

/// A gRPC call (gRPC over HTTP/2): its messages are requests, each an exchange of its own; the answers leave as they
/// are done. A unary call is handed on when the client's side has ended, a stream's message when it is complete. Ends
/// with one status, in a trailer, or in the header where there is no message.
class grpc_stream final : public http2::http2_stream, private message_owner {
public:
    grpc_stream(http2::stream_owner& owner, std::int32_t id) noexcept;

    void wind_down() noexcept override;
    void out_of_memory() noexcept override { refuse({errc::unavailable, "no memory for the request"}); }
    void submit_trailer() noexcept override;

private:
    void begin(http2::request_head& head) override;
    void take(std::span<const std::byte> bytes) override;
    void request_complete() override;
    void cancel() noexcept override;
    bool busy() const noexcept override { return !messages_.empty(); }
    void refuse(const error& why) noexcept override;
    void go_on() override;
    time_point own_deadline() const noexcept override { return finished_ ? no_deadline : due_; }
    void own_deadline_passed(time_point now) noexcept override;

    task_executor& home() noexcept override { return owner_.home(); }
    void answered(grpc_message& m) noexcept override;
    void part_answered(grpc_message& m) noexcept override;

    result<void> check(const http2::request_head& head);
    void read(std::span<const std::byte>& bytes);
    bool full() const noexcept;
    void begin_message(std::span<const std::byte> following);
    void message_complete();
    void wait_for_more() noexcept;
    std::unique_ptr<grpc_message> make_message();
    void hand_over(std::unique_ptr<grpc_message> message);
    void cancel_messages() noexcept;
    void answer_with(grpc_message& m) noexcept;
    void send_message(response_message& answer);
    bool send_messages_of(response_message& answer) noexcept;
    void finish(int status, std::string_view message, std::uint32_t retry_after_s) noexcept;
    void end_if_done() noexcept;
    std::size_t message_limit() const noexcept;

    request_message header_;  ///< of the call; each message has a copy
    rpc_kind kind_ = rpc_kind::unknown;
    time_point due_ = no_deadline;

    message_prefix prefix_;
    http2::arriving_body body_;
    std::vector<std::byte> held_;                        ///< came while there were too many messages
    std::list<std::unique_ptr<grpc_message>> messages_;  ///< not answered yet
    std::unique_ptr<grpc_message> waiting_;              ///< complete, for the client's end of a call with one
    std::unique_ptr<grpc_message> spare_;
    std::size_t count_ = 0;  ///< of messages that were complete
    bool in_message_ = false;
    bool reading_ = false;
    bool stopping_ = false;  ///< no more messages are taken

    bool header_sent_ = false;
    bool finished_ = false;  ///< the status is known, and nothing is read or sent any more but it
    int status_ = 0;
    std::string status_text_;  ///< percent-encoded
    std::uint32_t retry_after_s_ = 0;
};

}  // namespace asio_infer::grpc
