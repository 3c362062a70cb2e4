#pragma once

#include <array>
#include <asio_infer/tensor.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace asio_infer {

/// The request headers that any stage reads. To read another one: add a value and its row.
enum class header : std::uint8_t {
    host,
    content_type,
    content_encoding,
    accept_encoding,
    inference_header_content_length,
    request_id,
    authorization,
    grpc_timeout,
    grpc_encoding,
    grpc_accept_encoding,
    triton_grpc_error,
};
inline constexpr std::array<std::string_view, 11> header_names{
    "host",
    "content-type",
    "content-encoding",
    "accept-encoding",
    "inference-header-content-length",
    "x-request-id",
    "authorization",
    "grpc-timeout",
    "grpc-encoding",
    "grpc-accept-encoding",
    "triton_grpc_error",
};

/// The headers of one request that are in `header_names`. Reused from request to request.
class header_values {
public:
    void clear() noexcept {
        for (slot& s : slots_) {
            s.count = 0;
            s.value.clear();
        }
    }
    /// Values of a repeated header are one list (RFC 9110, 5.2), and counted for the headers that may not repeat.
    void add(header h, std::string_view value) {
        slot& s = slots_[static_cast<std::size_t>(h)];
        if (s.count++ > 0) s.value.append(", ");
        s.value.append(value);
    }
    /// The value without surrounding blanks, or "" where there is none. Sent more than once: all, with ", " between.
    std::string_view operator[](header h) const noexcept { return slots_[static_cast<std::size_t>(h)].value; }
    std::size_t count(header h) const noexcept { return slots_[static_cast<std::size_t>(h)].count; }

private:
    struct slot {
        std::string value;
        std::uint32_t count = 0;
    };
    std::array<slot, header_names.size()> slots_;
};

enum class verb : std::uint8_t { get, head, post, options, other };

/// What the bodies of a request and of its answer are written in.
enum class payload : std::uint8_t {
    json,      ///< REST: JSON, with binary tensors behind it where a header says so
    protobuf,  ///< gRPC: one message
};

/// A whole request, whatever protocol carried it.
struct request_message {
    payload form = payload::json;
    bool compressed = false;  ///< with payload::protobuf: as grpc-encoding says
    bool streamed = false;    ///< one of any number of messages of a gRPC stream, each with an answer of its own
    verb method = verb::get;
    std::string method_name;  ///< as sent, for messages
    std::string target;       ///< origin form: path and query, still percent-encoded
    header_values headers;
    buffer body;  ///< aligned to tensor_alignment where its binary part starts
};

/// An answer. `text` and then `parts` are its body; parts leave from where they are.
struct response_message {
    int status = 200;
    std::string_view content_type = "application/json";  ///< a literal
    std::string_view content_encoding;                   ///< a literal, or none
    std::string_view allow;                              ///< a literal list of methods, or none
    std::optional<std::size_t> json_length;              ///< Inference-Header-Content-Length, if the body is binary
    std::uint32_t retry_after_s = 0;                     ///< 0: none
    bool challenge = false;                              ///< WWW-Authenticate: send a key
    std::string request_id;                              ///< X-Request-Id, if any
    int grpc_status = 0;                                 ///< with payload::protobuf
    std::string grpc_message;                            ///< why, if grpc_status is not 0; UTF-8
    std::string text;
    std::vector<buffer> parts;

    std::size_t body_size() const noexcept {
        std::size_t size = text.size();
        for (const buffer& part : parts) size += part.size();
        return size;
    }
    /// Empty again; the memory is kept for the next answer.
    void clear() noexcept {
        constexpr std::size_t kept_text = 64 * 1024;  // what an idle connection may hold on to
        response_message fresh;
        if (text.capacity() <= kept_text) fresh.text.swap(text);
        fresh.request_id.swap(request_id);
        fresh.parts.swap(parts);
        fresh.text.clear();
        fresh.request_id.clear();
        fresh.parts.clear();
        *this = std::move(fresh);
    }
};

}  // namespace asio_infer
