#include "protocol/http2/callbacks.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>

#include "protocol/http2/http2_session.hpp"

namespace asio_infer::http2 {

namespace {

constexpr std::size_t most_waiting = 512 * 1024;  ///< bytes that wait for the socket
constexpr int callback_failure = NGHTTP2_ERR_CALLBACK_FAILURE;

std::span<const std::byte> bytes_of(const std::uint8_t* data, std::size_t size) noexcept {
    return std::as_bytes(std::span(data, size));
}

std::string_view text_of(const std::uint8_t* data, std::size_t size) noexcept {
    return {reinterpret_cast<const char*>(data), size};
}

bool ends_stream(const nghttp2_frame& frame) noexcept { return (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0; }
bool is_ack(const nghttp2_frame& frame) noexcept { return (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0; }

}  // namespace

/// nghttp2 calls C functions; an exception ends the connection.
struct callbacks {
    template <class Call>
    static int guarded(Call call) noexcept {
        try {
            return call() ? 0 : callback_failure;
        } catch (const std::bad_alloc&) {
            return callback_failure;
        }
    }

    static http2_session& session_of(void* user_data) noexcept { return *static_cast<http2_session*>(user_data); }

    static http2_stream* stream_of(nghttp2_session* h2, std::int32_t id) noexcept {
        return static_cast<http2_stream*>(nghttp2_session_get_stream_user_data(h2, id));
    }

    static bool is_request(const nghttp2_frame& frame) noexcept {
        return frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST;
    }

    static int begin_headers(nghttp2_session*, const nghttp2_frame*, void* user_data) noexcept {
        session_of(user_data).header_begins();
        return 0;
    }

    static int header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user_data) noexcept {
        http2_session& s = session_of(user_data);
        try {
            s.head_.add(text_of(name, name_size), text_of(value, value_size));
        } catch (const std::bad_alloc&) {
            return callback_failure;
        }
        return s.head_.hopeless() ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
    }

    static int frame_received(nghttp2_session* h2, const nghttp2_frame* frame, void* user_data) noexcept {
        http2_session& s = session_of(user_data);
        return guarded([&] {
            http2_stream* const stream = stream_of(h2, frame->hd.stream_id);
            switch (frame->hd.type) {
                case NGHTTP2_HEADERS:
                    if (is_request(*frame)) return s.begin_stream(frame->hd.stream_id, ends_stream(*frame));
                    s.header_over();
                    if (ends_stream(*frame) && stream != nullptr) stream->end_of_data();
                    return true;
                case NGHTTP2_DATA:
                    if (ends_stream(*frame)) {
                        if (stream != nullptr) stream->end_of_data();
                        return true;
                    }
                    return frame->hd.length > frame->data.padlen || s.idle_frame();
                case NGHTTP2_RST_STREAM:
                    return s.client_reset(stream);
                case NGHTTP2_SETTINGS:
                    s.settings_seen(is_ack(*frame));
                    return is_ack(*frame) || s.idle_frame();
                case NGHTTP2_PRIORITY:
                    return s.idle_frame();
                case NGHTTP2_PING:
                    return is_ack(*frame) || s.ping();
                default:
                    return true;
            }
        });
    }

    static int invalid_frame(nghttp2_session*, const nghttp2_frame*, int, void* user_data) noexcept {
        http2_session& s = session_of(user_data);
        s.header_over();
        return guarded([&] { return s.fault(); });
    }

    static int data_chunk(nghttp2_session* h2, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                          std::size_t size, void* user_data) noexcept {
        return guarded([&] { return session_of(user_data).data_received(stream_of(h2, id), bytes_of(data, size)); });
    }

    static int stream_closed(nghttp2_session* h2, std::int32_t id, std::uint32_t, void* user_data) noexcept {
        if (http2_stream* const stream = stream_of(h2, id)) session_of(user_data).stream_closed(*stream);
        return 0;
    }

    static int frame_sent(nghttp2_session* h2, const nghttp2_frame* frame, void* user_data) noexcept {
        http2_session& s = session_of(user_data);
        const bool carries = frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS;
        if (carries) s.guard_.traffic();
        if (carries && ends_stream(*frame)) {
            // The answer is complete: what the client still sends would be in vain (RFC 9113, 8.1).
            const http2_stream* const stream = stream_of(h2, frame->hd.stream_id);
            if (stream != nullptr && !stream->request_ended())
                nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
        }
        if (frame->hd.type != NGHTTP2_RST_STREAM) return 0;
        switch (frame->rst_stream.error_code) {
            case NGHTTP2_NO_ERROR:
            case NGHTTP2_CANCEL:
                return 0;
            case NGHTTP2_REFUSED_STREAM:
                if (!s.settled_) return 0;  // the client could not know how many streams it may open
                break;
            default:
                break;
        }
        s.fault();  // acted on behind the sending
        return 0;
    }

    static ssize_t send(nghttp2_session*, const std::uint8_t* data, std::size_t size, int, void* user_data) noexcept {
        http2_session& s = session_of(user_data);
        if (s.output_.size() > most_waiting) return NGHTTP2_ERR_WOULDBLOCK;
        try {
            s.output_.append(bytes_of(data, size));
        } catch (const std::bad_alloc&) {
            return callback_failure;
        }
        return static_cast<ssize_t>(size);
    }

    /// How much of the stream's output goes into the next frame.
    static ssize_t read_output(nghttp2_session* h2, std::int32_t id, std::uint8_t*, std::size_t most,
                               std::uint32_t* flags, nghttp2_data_source*, void*) noexcept {
        http2_stream* const found = stream_of(h2, id);
        if (found == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;  // given up by the session
        http2_stream& stream = *found;
        const std::size_t there = stream.output_size();
        if (there == 0 && !stream.output_complete()) return NGHTTP2_ERR_DEFERRED;
        const std::size_t part = std::min(there, most);
        *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
        if (part == there && stream.output_complete()) {
            *flags |= NGHTTP2_DATA_FLAG_EOF;
            if (stream.has_trailer()) {
                *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
                stream.submit_trailer();
            }
        }
        return static_cast<ssize_t>(part);
    }

    static int send_data(nghttp2_session* h2, nghttp2_frame* frame, const std::uint8_t* frame_header, std::size_t size,
                         nghttp2_data_source*, void* user_data) noexcept {
        constexpr std::size_t frame_header_size = 9;
        http2_session& s = session_of(user_data);
        http2_stream* const stream = stream_of(h2, frame->hd.stream_id);
        if (stream == nullptr || stream->output_size() < size) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        if (s.output_.size() > most_waiting) return NGHTTP2_ERR_WOULDBLOCK;
        return guarded([&] {
            s.output_.append(bytes_of(frame_header, frame_header_size));
            if (size > 0) stream->take_output(s.output_, size);
            return true;
        });
    }
};

namespace {

/// What all connections share: made once.
struct shared_state {
    shared_state() {
        if (nghttp2_session_callbacks_new(&calls) != 0 || nghttp2_option_new(&options) != 0) throw std::bad_alloc();
        nghttp2_session_callbacks_set_on_begin_headers_callback(calls, &callbacks::begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(calls, &callbacks::header);
        nghttp2_session_callbacks_set_on_frame_recv_callback(calls, &callbacks::frame_received);
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(calls, &callbacks::invalid_frame);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, &callbacks::data_chunk);
        nghttp2_session_callbacks_set_on_stream_close_callback(calls, &callbacks::stream_closed);
        nghttp2_session_callbacks_set_on_frame_send_callback(calls, &callbacks::frame_sent);
        nghttp2_session_callbacks_set_send_callback(calls, &callbacks::send);
        nghttp2_session_callbacks_set_send_data_callback(calls, &callbacks::send_data);
        nghttp2_option_set_no_auto_window_update(options, 1);             // windows follow the budget
        nghttp2_option_set_no_closed_streams(options, 1);                 // no memory for streams of old
        nghttp2_option_set_stream_reset_rate_limit(options, 4'000, 132);  // flood_guard comes first
    }

    nghttp2_session_callbacks* calls = nullptr;
    nghttp2_option* options = nullptr;
};

}  // namespace

nghttp2_session* make_nghttp2_session(http2_session& owner) {
    static const shared_state shared;
    nghttp2_session* made = nullptr;
    if (nghttp2_session_server_new2(&made, shared.calls, &owner, shared.options) != 0) throw std::bad_alloc();
    return made;
}

nghttp2_data_provider output_of_streams() noexcept {
    nghttp2_data_provider provider;
    provider.source.ptr = nullptr;
    provider.read_callback = &callbacks::read_output;
    return provider;
}

}  // namespace asio_infer::http2
