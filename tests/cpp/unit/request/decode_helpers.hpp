#pragma once

#include <asio_infer/limits.hpp>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/message.hpp"
#include "request/decode.hpp"

namespace asio_infer::test {

/// A request as the protocol stage hands it over: the JSON, then the binary section aligned.
inline request_message message(std::string_view json, std::string_view binary = {}) {
    unique_buffer memory(json.size() + binary.size(), json.size());
    if (!json.empty()) std::memcpy(memory.data(), json.data(), json.size());
    if (!binary.empty()) std::memcpy(memory.data() + json.size(), binary.data(), binary.size());
    request_message m;
    m.method = verb::post;
    m.body = std::move(memory).share();
    return m;
}

/// The same with Inference-Header-Content-Length, if `length` is empty with the right one.
inline request_message binary_message(std::string_view json, std::string_view binary, std::string_view length = {}) {
    request_message m = message(json, binary);
    m.headers.add(header::inference_header_content_length, length.empty() ? std::to_string(json.size()) : length);
    return m;
}

inline result<infer_request> decode(std::string_view json, const limits& bounds = {}) {
    return decode_infer(message(json), bounds);
}

/// The message of the refusal; "accepted" if there is none, "[code]" in front if it is not invalid_request.
template <class T>
std::string refusal(const result<T>& outcome) {
    if (!outcome.has_error()) return "accepted";
    if (outcome.error().code != errc::invalid_request) return "[code] " + outcome.error().message;
    return outcome.error().message;
}

/// One request with one input of this shape, type and data, as JSON.
inline std::string one_input(std::string_view dims, std::string_view type, std::string_view data) {
    std::string text = R"({"inputs":[{"name":"A","shape":)";
    text.append(dims).append(R"(,"datatype":")").append(type).append(R"(","data":)").append(data).append("}]}");
    return text;
}

template <class T>
std::vector<T> values(const tensor& t) {
    std::vector<T> out(t.data.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), t.data.data(), out.size() * sizeof(T));
    return out;
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace asio_infer::test
