#pragma once

#include <asio_infer/error.hpp>
#include <asio_infer/infer.hpp>
#include <asio_infer/limits.hpp>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace asio_infer {

/// What the JSON of a request says.
struct json_request {
    infer_request request;
    /// One per input: its binary_data_size, if it is binary; then its tensor has type and shape but no data yet.
    boost::container::small_vector<std::optional<std::uint64_t>, 4> binary_sizes;
};

/// Parses the JSON part of a request in one pass, without a document tree. See decode_infer for the rules.
result<json_request> read_json_request(std::string_view text, const limits& bounds);

}  // namespace asio_infer
