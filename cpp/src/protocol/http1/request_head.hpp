#pragma once

#include <cstdint>
#include <string>

#include "core/message.hpp"

namespace asio_infer::http1 {

/// What a request's header says, as the parser collected it. Only framing_guard judges it.
struct request_head {
    request_message* request = nullptr;  ///< method, target and the headers that later stages read go there
    int version = 11;                    ///< 10 or 11
    std::string content_length;
    std::string transfer_encoding;
    std::string expect;
    std::uint32_t content_length_count = 0;
    std::uint32_t transfer_encoding_count = 0;
    std::uint32_t expect_count = 0;
    bool folded = false;  ///< a header line was continued on the next (obs-fold)

    /// As for a request of which nothing has come: one that is refused before its first line is complete is answered
    /// by these values.
    void clear() noexcept {
        request->method = verb::get;
        request->method_name.clear();
        request->target.clear();
        request->headers.clear();
        version = 11;
        content_length.clear();
        transfer_encoding.clear();
        expect.clear();
        content_length_count = transfer_encoding_count = expect_count = 0;
        folded = false;
    }
};

}  // namespace asio_infer::http1
