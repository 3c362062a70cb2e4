#pragma once

#include "core/exchange.hpp"
#include "protocol/http2/http2_stream.hpp"

namespace asio_infer::http2 {

/// A REST request over HTTP/2: one exchange, answered as over HTTP/1.1.
class rest_stream final : public http2_stream, public exchange {
public:
    rest_stream(stream_owner& owner, std::int32_t id) noexcept;

    void wind_down() noexcept override;
    void out_of_memory() noexcept override { refuse({errc::unavailable, "no memory for the request"}); }

    task_executor& home() noexcept override { return owner_.home(); }
    void complete() noexcept override;

private:
    enum class stage : std::uint8_t { receiving, handling, answered };

    void begin(request_head& head) override;
    void take(std::span<const std::byte> bytes) override;
    void request_complete() override;
    void cancel() noexcept override;
    bool busy() const noexcept override { return now_ == stage::handling; }
    void refuse(const error& why) noexcept override;
    void go_on() override;

    result<void> check(const request_head& head) const;
    std::size_t body_limit() const noexcept;
    void send_answer();
    void send_header_of(const response_message& answer, bool ends);

    arriving_body body_;
    stage now_ = stage::receiving;
};

}  // namespace asio_infer::http2
