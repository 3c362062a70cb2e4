#include "request/infer_operation.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "request/answer.hpp"
#include "request/bind.hpp"
#include "request/decode.hpp"
#include "request/decode_protobuf.hpp"
#include "request/infer_cost.hpp"
#include "request/route_arguments.hpp"
#include "request/shared_memory/transfer.hpp"

namespace asio_infer {

namespace {
constexpr std::size_t uncounted_bytes = 4096;  ///< less than a connection holds anyway
}

infer_operation::infer_operation(const router_context& context, exchange& x, model_ptr model, caller who)
    : context_(context),
      x_(x),
      model_(std::move(model)),
      who_(who),
      decoded_(context.budget),
      call_(std::make_unique<infer_call>()) {
    call_->model = model_;
    call_->receiver = this;
    call_->arrived = x.arrived;
}

void infer_operation::start() noexcept {
    if (heavy_request()) {
        post(context_.workers, step::decode);
        return;
    }
    decode();
    if (call_->outcome.has_value() && shared_input_bytes(call_->request) > context_.limits.offload_bytes) {
        post(context_.workers, step::complete);
        return;
    }
    complete_request();
    submit();
}

/// A short coded body may expand to a thousand times its size. Raw contents are not looked at, but for strings and
/// booleans, so a message is heavy only if its inputs are many values.
bool infer_operation::heavy_request() const noexcept {
    if (coding() != body_coding::identity) return true;
    const std::size_t limit = context_.limits.offload_bytes;
    if (!is_message()) return json_bytes(x_.request) > limit;
    const std::string_view bytes{reinterpret_cast<const char*>(x_.request.body.data()), x_.request.body.size()};
    return bytes.size() > limit && first_raw_tensor(bytes) == 0;
}

body_coding infer_operation::coding() const noexcept {
    const header_values& headers = x_.request.headers;
    if (!is_message()) return parse_body_coding(headers[header::content_encoding]).value_or(body_coding::identity);
    if (!x_.request.compressed) return body_coding::identity;
    return parse_body_coding(headers[header::grpc_encoding]).value_or(body_coding::identity);
}

void infer_operation::run() noexcept {
    switch (next_) {
        case step::decode:
            decode();
            complete_request();
            post(x_.home(), step::submit);
            return;
        case step::complete:
            complete_request();
            post(x_.home(), step::submit);
            return;
        case step::submit:
            submit();
            return;
        case step::encode:
            if (x_.home().here()) {
                encode_and_send();
            } else {
                encode();
                post(x_.home(), step::send);
            }
            return;
        case step::send:
            send();
            return;
    }
}

void infer_operation::post(task_executor& where, step next) noexcept {
    next_ = next;
    where.post(*this);
}

/// Puts the expanded body in the place of the coded one.
result<void> infer_operation::expand() {
    if (coding() == body_coding::identity) return {};
    const result<buffer> expanded = expand_body(x_.request.body.bytes(), coding(), context_.limits.max_body_bytes,
                                                announced_json_bytes(x_.request).value_or(0), decoded_);
    if (expanded.has_error()) {
        error why = expanded.error();
        if (why.code == errc::unavailable)
            why.retry_after_s = context_.budget.seconds_until_free(x_.request.body.size(), context_.now());
        return why;
    }
    x_.request.body = *expanded;
    return {};
}

/// Tensors that were read from JSON have memory of their own, which may be several times their text.
result<void> infer_operation::count_tensors() {
    const std::size_t beside = bytes_beside(call_->request, x_.request.body);
    const std::size_t shared = shared_input_bytes(call_->request);
    const std::size_t bytes = shared > std::numeric_limits<std::size_t>::max() - beside ? shared : beside + shared;
    if (bytes > context_.budget.limit())
        return error{errc::too_large, "the inputs have " + std::to_string(bytes) +
                                          " bytes; all requests together may hold " +
                                          std::to_string(context_.budget.limit())};
    if (bytes <= uncounted_bytes || decoded_.resize(decoded_.bytes() + bytes)) return {};
    return error{errc::unavailable, "the bytes of the requests in flight are at their limit; try again",
                 context_.budget.seconds_until_free(bytes, context_.now())};
}

/// Does a part of the decoding, unless an earlier one has failed; what goes wrong becomes the call's outcome.
template <class Work>
void infer_operation::attempt(Work work) noexcept {
    if (call_->outcome.has_error()) return;
    // The messages below fit a string without an allocation.
    try {
        if (const result<void> done = work(); done.has_error()) call_->outcome = done.error();
    } catch (const std::bad_alloc&) {
        call_->outcome = error{errc::unavailable, "out of memory"};
    } catch (const std::exception&) {
        call_->outcome = error{errc::internal, "internal error"};
    }
}

void infer_operation::decode() noexcept {
    attempt([this] { return decode_request(); });
}

/// Reads what is in shared memory, and fits the request to the model.
void infer_operation::complete_request() noexcept {
    attempt([this]() -> result<void> {
        if (const result<void> read = read_shared_inputs(call_->request, context_.shared_memory); read.has_error())
            return read;
        return bind(*call_, model_->spec());
    });
}

result<void> infer_operation::decode_request() {
    if (const result<void> whole = expand(); whole.has_error()) return whole;
    if (is_message()) {
        if (const result<void> read = read_message(); read.has_error()) return read;
    } else {
        result<infer_request> decoded = decode_infer(x_.request, context_.limits);
        if (decoded.has_error()) return decoded.error();
        call_->request = std::move(*decoded);
    }
    if (const result<void> counted = count_tensors(); counted.has_error()) return counted;
    call_->deadline = std::min(x_.due, deadline_after(x_.arrived, call_->request.timeout_us));
    return {};
}

/// The message of a gRPC inference, which also says which model it is for.
result<void> infer_operation::read_message() {
    protobuf_infer decoded;
    const result<void> read = decode_infer_protobuf(x_.request.body, context_.limits, decoded);
    call_->request = std::move(decoded.request);
    if (read.has_error()) return read;
    const result<route_arguments> named = arguments_of(decoded.model, decoded.version);
    if (named.has_error()) return named.error();
    if (const result<void> allowed = check_access(who_, scope::infer, named->model); allowed.has_error())
        return allowed;
    result<model_ptr> found = context_.models.find(named->model, named->version);
    if (found.has_error()) return found.error();
    call_->model = model_ = std::move(*found);
    return {};
}

void infer_operation::submit() noexcept {
    if (cancelled_) call_->outcome = error{errc::cancelled, "cancelled"};
    if (call_->outcome.has_error()) {
        fail();
        return;
    }
    submitted_ = true;
    const model_ptr model = model_;  // deliver() may come, and this go, before submit returns
    model->submit(std::move(call_), &x_.home(), false);
}

void infer_operation::fail() noexcept {
    const errc code = call_->outcome.error().code;
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(context_.now() - x_.arrived);
    if (model_)
        model_->stats().record_failure(code, static_cast<std::uint64_t>(took.count()));
    else
        count_refused(context_.stats, code);
    encode_and_send();
}

void infer_operation::cancel() noexcept {
    cancelled_ = true;
    if (!submitted_) return;
    in_cancel_ = true;
    model_->cancel(*this);
    in_cancel_ = false;
}

void infer_operation::deliver(infer_call_ptr call) noexcept {
    call_ = std::move(call);
    if (heavy_answer()) {
        post(context_.workers, step::encode);
    } else if (x_.home().here() && !in_cancel_) {
        encode_and_send();
    } else {
        // Also from inside cancel(): its caller does not expect the exchange to end under it.
        post(x_.home(), step::encode);
    }
}

bool infer_operation::heavy_answer() const noexcept {
    const std::size_t limit = context_.limits.offload_bytes;
    if (expected_json_bytes(*call_) > limit || shared_output_bytes(*call_) > limit) return true;
    return context_.compress != nullptr && context_.compress_binary &&
           !x_.request.headers[is_message() ? header::grpc_accept_encoding : header::accept_encoding].empty() &&
           binary_bytes(*call_) > limit;
}

void infer_operation::encode() noexcept {
    try {
        const response_encoder& encoder = context_.encoder_of(x_.request);
        if (const result<void> written = write_shared_outputs(*call_, context_.shared_memory); written.has_error())
            call_->outcome = written.error();
        encoder.infer(*call_, x_.response);
        if (x_.request.streamed) encoder.stream_item(call_->request.id, x_.response);
        dress_answer(context_, x_.request, x_.response);
    } catch (const std::exception&) {
        set_out_of_memory(x_.response);
    }
}

void infer_operation::encode_and_send() noexcept {
    encode();
    send();
}

void infer_operation::send() noexcept {
    const model_ptr kept = model_;  // the exchange, and this, end inside
    send_answer(context_, x_, kept ? std::string_view(kept->spec().name) : std::string_view());
}

}  // namespace asio_infer
