#pragma once

#include <vector>

#include "core/session.hpp"
#include "protocol/session_context.hpp"

namespace asio_infer {

/// A connection of which nothing has been read yet: finds out which protocol it speaks, and gives way to that
/// protocol's session. An idle connection's time runs until its first byte, a header's time from then on.
class first_bytes_session final : public session {
public:
    first_bytes_session(const session_context& context, session_host& host, time_point now);
    std::span<std::byte> prepare() override;
    void received(std::size_t n, time_point now) noexcept override;
    void peer_finished(time_point) noexcept override { over_ = true; }
    void peer_gone() noexcept override { over_ = true; }
    std::size_t to_send(std::span<std::span<const std::byte>>) noexcept override { return 0; }
    void sent(std::size_t, time_point) noexcept override {}
    time_point deadline() const noexcept override { return deadline_; }
    void deadline_passed(time_point now) noexcept override;
    void retire(time_point now) noexcept override;
    void drain(time_point) noexcept override { over_ = true; }
    bool send_side_over() const noexcept override { return false; }
    bool over() const noexcept override { return over_; }
    bool quiet() const noexcept override { return true; }

private:
    void give_way(std::unique_ptr<session> next);

    const session_context& context_;
    session_host& host_;
    std::vector<std::byte> in_;
    std::size_t size_ = 0;
    time_point began_{};  ///< when the first byte came
    time_point deadline_;
    bool retiring_ = false;
    bool over_ = false;
};

}  // namespace asio_infer
