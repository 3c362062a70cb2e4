#pragma once

#include <asio_infer/error.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstddef>
#include <span>
#include <string_view>

#include "protocol/http1/request_head.hpp"

namespace asio_infer::http1 {

/// Where the parser puts the bytes of a chunked body.
class chunk_sink {
public:
    /// The next bytes of a chunk, of which `left` are still to come, these included. False ends the parsing; the sink
    /// knows why.
    virtual bool on_chunk(std::string_view bytes, std::uint64_t left) = 0;

protected:
    ~chunk_sink() = default;
};

/// Beast's parser of one request, collecting into a request_head: no fields container, no body type, no I/O. After
/// the header it is used for chunked bodies only; bodies with a length are counted by the session.
class request_parser final : public boost::beast::http::basic_parser<true> {
public:
    request_parser(request_head& head, chunk_sink& sink, std::size_t max_header_bytes);

    /// Parses what is complete in `bytes`; returns how many were consumed. `failure` is set if the request is
    /// malformed or over a limit.
    std::size_t parse(std::string_view bytes, std::optional<error>& failure);
    /// The chunk that says that there are no more has been seen; what may follow is the trailer.
    bool in_trailer() const noexcept { return in_trailer_; }

    /// Bytes that all chunk extensions of a request may have together.
    static constexpr std::size_t max_chunk_extensions = 1'024;

private:
    using verb_type = boost::beast::http::verb;
    using field_type = boost::beast::http::field;
    using text = boost::beast::string_view;
    using code = boost::beast::error_code;

    void on_request_impl(verb_type method, text method_name, text target, int version, code& ec) override;
    void on_field_impl(field_type field, text name, text value, code& ec) override;
    void on_chunk_header_impl(std::uint64_t size, text extensions, code& ec) override;
    std::size_t on_chunk_body_impl(std::uint64_t remain, text body, code& ec) override;
    void on_trailer_field_impl(field_type field, text name, text value, code& ec) override;
    void on_response_impl(int, text, int, code&) override {}
    void on_header_impl(code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, code&) override {}
    std::size_t on_body_impl(text body, code&) override { return body.size(); }
    void on_finish_impl(code&) override {}

    request_head& head_;
    chunk_sink& sink_;
    std::size_t extension_bytes_ = 0;
    bool in_trailer_ = false;
};

}  // namespace asio_infer::http1
