// grpc.reflection.v1 (and v1alpha, which is the same but for its name): the services and their messages, for clients
// that have no .proto files.
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>

#include "core/status_table.hpp"
#include "request/descriptors.hpp"
#include "request/handlers.hpp"
#include "request/in_quotes.hpp"
#include "request/protobuf_reader.hpp"

namespace asio_infer::handlers {

namespace {

using protozero::pbf_writer;

/// A ServerReflectionRequest.
struct reflection_request {
    std::string_view host;
    std::uint32_t wanted = 0;  ///< the field of the question
    std::string_view argument;
};

/// The fields of the question.
enum question : std::uint32_t {
    file_by_filename = 3,
    file_containing_symbol = 4,
    file_containing_extension = 5,
    all_extension_numbers_of_type = 6,
    list_services = 7,
};

result<reflection_request> read_request(const buffer& message) {
    reflection_request request;
    const result<void> read = read_message("ServerReflectionRequest", [&]() -> result<void> {
        pbf_reader reader(reinterpret_cast<const char*>(message.data()), message.size());
        while (reader.next()) {
            if (reader.tag_and_type() == text_field(1)) {
                request.host = text_of(reader.get_view());
            } else if (reader.wire_type() == pbf_wire_type::length_delimited && reader.tag() >= file_by_filename &&
                       reader.tag() <= list_services) {
                request.wanted = reader.tag();
                request.argument = text_of(reader.get_view());
            } else {
                reader.skip();
            }
        }
        return {};
    });
    if (read.has_error()) return read.error();
    return request;
}

const file_descriptor* find_file(std::string_view name) noexcept {
    for (const file_descriptor& each : file_descriptors())
        if (each.name == name) return &each;
    return nullptr;
}

const file_descriptor* find_symbol(std::string_view name) noexcept {
    for (const file_descriptor& each : file_descriptors())
        for (const std::string_view symbol : each.symbols)
            if (symbol == name) return &each;
    return nullptr;
}

void add_services(pbf_writer& response) {
    pbf_writer list(response, 6);
    for (const file_descriptor& each : file_descriptors()) {
        pbf_writer service(list, 1);
        service.add_bytes(1, each.service.data(), each.service.size());
    }
}

void add_file(pbf_writer& response, const file_descriptor& file) {
    pbf_writer files(response, 4);
    files.add_bytes(1, reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
}

void add_error(pbf_writer& response, const error& why) {
    pbf_writer failure(response, 7);
    failure.add_int32(1, status_of(why.code).grpc);
    failure.add_string(2, why.message);
}

void answer(pbf_writer& response, const reflection_request& request) {
    const file_descriptor* file = nullptr;
    switch (request.wanted) {
        case list_services:
            return add_services(response);
        case file_by_filename:
            file = find_file(request.argument);
            break;
        case file_containing_symbol:
            file = find_symbol(request.argument);
            break;
        case file_containing_extension:
        case all_extension_numbers_of_type:
            return add_error(response, {errc::not_found, "these services have no extensions"});
        default:
            return add_error(response, {errc::invalid_request, "the request asks for nothing"});
    }
    if (file == nullptr)
        add_error(response, {errc::not_found, "there is no " + in_quotes(request.argument)});
    else
        add_file(response, *file);
}

}  // namespace

result<progress> reflect(const route_call& call) {
    const buffer& message = call.x.request.body;
    const result<reflection_request> request = read_request(message);
    if (request.has_error()) return request.error();
    call.x.response.content_type = "application/grpc";
    pbf_writer response(call.x.response.text);
    if (!request->host.empty()) response.add_bytes(1, request->host.data(), request->host.size());
    response.add_bytes(2, reinterpret_cast<const char*>(message.data()), message.size());
    answer(response, *request);
    return progress::answered;
}

}  // namespace asio_infer::handlers
