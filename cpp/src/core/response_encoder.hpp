#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/infer.hpp>
#include <span>
#include <string>
#include <string_view>

#include "core/message.hpp"
#include "core/served_model.hpp"
#include "core/shared_region.hpp"

namespace asio_infer {

/// Prints answers in one payload format: JSON with binary tensors, or protobuf. Stateless and thread-safe.
/// Each function fills status, content type and body of `out`, a cleared response.
class response_encoder {
public:
    virtual ~response_encoder() = default;
    /// A finished call: its outputs, or its error. An output that JSON cannot carry makes the answer an error that
    /// names it.
    virtual void infer(const infer_call& call, response_message& out) const = 0;
    virtual void failure(const error& e, response_message& out) const = 0;
    /// Makes a filled answer, or failure, to the inference `id` an item of a stream, where the format has streams.
    virtual void stream_item(std::string_view id, response_message& out) const;
    virtual void server_metadata(response_message& out) const = 0;
    virtual void live(response_message& out) const = 0;
    virtual void ready(bool ready, response_message& out) const = 0;
    virtual void model_ready(std::string_view name, bool ready, response_message& out) const = 0;
    /// `versions`: all of this name, ascending; `model` is the one asked for.
    virtual void model_metadata(const served_model& model, std::span<const model_ptr> versions,
                                response_message& out) const = 0;
    virtual void model_config(const served_model& model, response_message& out) const = 0;
    virtual void statistics(std::span<const model_ptr> models, response_message& out) const = 0;
    virtual void shared_memory_status(std::span<const shared_region> regions, response_message& out) const = 0;
    /// What was asked for is done, and there is nothing to say about it.
    virtual void done(response_message& out) const = 0;
    /// GET /: a few lines of text that say what is served and how to ask for it.
    virtual void welcome(std::span<const model_ptr> models, response_message& out) const = 0;
};

inline void response_encoder::stream_item(std::string_view, response_message&) const {}

}  // namespace asio_infer
