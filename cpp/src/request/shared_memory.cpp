// The endpoints of Triton's extension "system_shared_memory".
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>

#include "request/handlers.hpp"
#include "request/protobuf_reader.hpp"

namespace asio_infer::handlers {

namespace {

namespace json = boost::json;

constexpr std::size_t most_body = 64 * 1024;

std::string_view text_of(const buffer& body) noexcept {
    return {reinterpret_cast<const char*>(body.data()), body.size()};
}

result<shared_memory_registry*> registry_of(const route_call& call) {
    if (call.context.shared_memory != nullptr) return call.context.shared_memory;
    return error{errc::not_implemented,
                 "shared memory is off; the server's operator turns it on with allow_client_shared_memory"};
}

std::optional<std::uint64_t> whole_number(const json::object& from, std::string_view key) {
    const json::value* const found = from.if_contains(key);
    if (found == nullptr) return std::nullopt;
    boost::system::error_code ec;
    const auto number = found->to_number<std::uint64_t>(ec);
    if (ec) return std::nullopt;
    return number;
}

/// {"key": ..., "offset": ..., "byte_size": ...}; offset may be left out.
result<shared_region> read_json(const route_call& call) {
    const error bad{errc::invalid_request,
                    "the body must be {\"key\": <text>, \"offset\": <number>, \"byte_size\": <number>}"};
    const buffer& body = call.x.request.body;
    if (body.size() > most_body) return bad;
    boost::system::error_code ec;
    const json::value parsed = json::parse(text_of(body), ec);
    if (ec || !parsed.is_object()) return bad;
    const json::object& object = parsed.get_object();
    const json::value* const key = object.if_contains("key");
    const std::optional<std::uint64_t> size = whole_number(object, "byte_size");
    const std::optional<std::uint64_t> offset =
        object.contains("offset") ? whole_number(object, "offset") : std::uint64_t{0};
    if (key == nullptr || !key->is_string() || !size || !offset) return bad;
    return shared_region{std::string(call.region), std::string(key->get_string()), *offset, *size};
}

result<shared_region> read_region_message(const buffer& body) {
    shared_region region;
    const result<void> read = read_message("request of this method", [&]() -> result<void> {
        pbf_reader reader(reinterpret_cast<const char*>(body.data()), body.size());
        while (reader.next()) {
            switch (reader.tag_and_type()) {
                case text_field(1):
                    region.name = asio_infer::text_of(reader.get_view());
                    break;
                case text_field(2):
                    region.key = asio_infer::text_of(reader.get_view());
                    break;
                case number_field(3):
                    region.offset = reader.get_uint64();
                    break;
                case number_field(4):
                    region.byte_size = reader.get_uint64();
                    break;
                default:
                    reader.skip();
            }
        }
        return {};
    });
    if (read.has_error()) return read.error();
    return region;
}

/// The region that the request is about, with its name only unless `whole`.
result<shared_region> read_region(const route_call& call, bool whole) {
    if (call.x.request.form == payload::protobuf) return read_region_message(call.x.request.body);
    if (whole) return read_json(call);
    return shared_region{std::string(call.region), {}, 0, 0};
}

}  // namespace

result<progress> shared_memory_status(const route_call& call) {
    const result<shared_memory_registry*> registry = registry_of(call);
    if (registry.has_error()) return registry.error();
    const result<shared_region> asked = read_region(call, false);
    if (asked.has_error()) return asked.error();
    const result<std::vector<shared_region>> found = (*registry)->list(asked->name);
    if (found.has_error()) return found.error();
    call.encoder.shared_memory_status(*found, call.x.response);
    return progress::answered;
}

result<progress> register_shared_memory(const route_call& call) {
    const result<shared_memory_registry*> registry = registry_of(call);
    if (registry.has_error()) return registry.error();
    result<shared_region> asked = read_region(call, true);
    if (asked.has_error()) return asked.error();
    if (const result<void> added = (*registry)->add(std::move(*asked)); added.has_error()) return added.error();
    call.encoder.done(call.x.response);
    return progress::answered;
}

result<progress> unregister_shared_memory(const route_call& call) {
    const result<shared_memory_registry*> registry = registry_of(call);
    if (registry.has_error()) return registry.error();
    const result<shared_region> asked = read_region(call, false);
    if (asked.has_error()) return asked.error();
    if (asked->name.empty())
        (*registry)->remove_all();
    else
        (*registry)->remove(asked->name);
    call.encoder.done(call.x.response);
    return progress::answered;
}

}  // namespace asio_infer::handlers
