#include <pybind11/stl.h>

#include <asio_infer/limits.hpp>
#include <asio_infer/options.hpp>
#include <asio_infer/server.hpp>
#include <chrono>
#include <cstring>
#include <string_view>
#include <vector>

#include "python.hpp"

namespace asio_infer::bindings {

namespace {

using milliseconds = std::chrono::milliseconds;

/// A property in seconds over a member in milliseconds.
void def_seconds(py::class_<limits>& type, const char* name, milliseconds limits::* member) {
    type.def_property(
        name, [member](const limits& l) { return std::chrono::duration<double>(l.*member).count(); },
        [member](limits& l, double seconds) {
            l.*member = std::chrono::round<milliseconds>(std::chrono::duration<double>(seconds));
        });
}

void register_limits(py::module_& m) {
    py::class_<limits> type(m, "Limits", "Every bound of the server.");
    type.def(py::init<>())
        .def_readwrite("max_body_bytes", &limits::max_body_bytes)
        .def_readwrite("max_header_bytes", &limits::max_header_bytes)
        .def_readwrite("max_json_depth", &limits::max_json_depth)
        .def_readwrite("max_pipelined_requests", &limits::max_pipelined_requests)
        .def_readwrite("max_concurrent_streams", &limits::max_concurrent_streams)
        .def_readwrite("max_connections", &limits::max_connections)
        .def_readwrite("max_parameters", &limits::max_parameters)
        .def_readwrite("max_tensors", &limits::max_tensors)
        .def_readwrite("max_rank", &limits::max_rank)
        .def_readwrite("max_shared_memory_regions", &limits::max_shared_memory_regions)
        .def_readwrite("inflight_bytes", &limits::inflight_bytes)
        .def_readwrite("min_bytes_per_s", &limits::min_bytes_per_s)
        .def_readwrite("inline_max_us", &limits::inline_max_us)
        .def_readwrite("offload_bytes", &limits::offload_bytes);
    def_seconds(type, "handshake_timeout_s", &limits::handshake_timeout);
    def_seconds(type, "header_timeout_s", &limits::header_timeout);
    def_seconds(type, "body_progress_timeout_s", &limits::body_progress_timeout);
    def_seconds(type, "idle_timeout_s", &limits::idle_timeout);
    def_seconds(type, "write_progress_timeout_s", &limits::write_progress_timeout);
    def_seconds(type, "linger_timeout_s", &limits::linger_timeout);
    def_seconds(type, "drain_timeout_s", &limits::drain_timeout);
}

void register_server_options(py::module_& m) {
    py::class_<runtime_options>(m, "RuntimeOptions", "Where ONNX Runtime is.")
        .def_readwrite("library_path", &runtime_options::library_path)
        .def_readwrite("intra_op_threads", &runtime_options::intra_op_threads);
    py::class_<tls_options>(m, "TlsOptions", "TLS for the server's port.")
        .def(py::init<>())
        .def_readwrite("certificate", &tls_options::certificate)
        .def_readwrite("key", &tls_options::key)
        .def_readwrite("client_ca", &tls_options::client_ca)
        .def_readwrite("reload", &tls_options::reload);
    py::class_<key_options>(m, "KeyOptions", "A caller that the server knows.")
        .def(py::init<>())
        .def_readwrite("name", &key_options::name)
        .def_readwrite("sha256", &key_options::sha256)
        .def_readwrite("read", &key_options::read)
        .def_readwrite("infer", &key_options::infer)
        .def_readwrite("control", &key_options::control)
        .def_readwrite("models", &key_options::models);
    py::class_<auth_options>(m, "AuthOptions", "Who may use the server.")
        .def(py::init<>())
        .def_readwrite("keys", &auth_options::keys)
        .def_readwrite("public_liveness", &auth_options::public_liveness);
    py::class_<server_options>(m, "ServerOptions", "What a server is made from.")
        .def(py::init<>())
        .def_readwrite("host", &server_options::host)
        .def_readwrite("port", &server_options::port)
        .def_readwrite("unix_path", &server_options::unix_path)
        .def_readwrite("auth", &server_options::auth)
        .def_readwrite("tls", &server_options::tls)
        .def_readwrite("io_threads", &server_options::io_threads)
        .def_readwrite("limits", &server_options::limits)
        .def_readwrite("runtime", &server_options::runtime)
        .def_readwrite("client_shared_memory", &server_options::client_shared_memory)
        .def_readwrite("access_log", &server_options::access_log)
        .def_readwrite("compress_binary", &server_options::compress_binary);
}

std::vector<std::byte> bytes_of(const py::bytes& content) {
    const std::string_view view = content;
    std::vector<std::byte> bytes(view.size());
    std::memcpy(bytes.data(), view.data(), view.size());
    return bytes;
}

void register_model_options(py::module_& m) {
    py::enum_<batching_options::mode>(m, "BatchingMode", "Who decides whether requests are joined.")
        .value("automatic", batching_options::mode::automatic)
        .value("on", batching_options::mode::on)
        .value("off", batching_options::mode::off);
    py::class_<batching_options>(m, "BatchingOptions", "How requests of one model are joined.")
        .def_readwrite("choice", &batching_options::choice)
        .def_readwrite("max_rows", &batching_options::max_rows)
        .def_readwrite("max_delay_s", &batching_options::max_delay_s);
    py::class_<queue_options>(m, "QueueOptions", "How requests of one model wait.")
        .def_readwrite("max_size", &queue_options::max_size)
        .def_readwrite("timeout_s", &queue_options::timeout_s);
    py::class_<model_options>(m, "ModelOptions", "What a model is loaded from and how it runs.")
        .def(py::init<>())
        .def_readwrite("name", &model_options::name)
        .def_readwrite("version", &model_options::version)
        .def_readwrite("backend", &model_options::backend)
        .def_readwrite("path", &model_options::path)
        .def(
            "set_bytes", [](model_options& options, const py::bytes& content) { options.bytes = bytes_of(content); },
            py::arg("content"))
        .def_readwrite("instances", &model_options::instances)
        .def_readwrite("batching", &model_options::batching)
        .def_readwrite("queue", &model_options::queue)
        .def_readwrite("warmup", &model_options::warmup)
        .def_readwrite("replace", &model_options::replace)
        .def_readwrite("providers", &model_options::providers)
        .def_readwrite("session_attributes", &model_options::session_attributes)
        .def_readwrite("session_config_entries", &model_options::session_config_entries)
        .def_readwrite("backend_options", &model_options::backend_options);
}

}  // namespace

void register_options(py::module_& m) {
    register_limits(m);
    register_server_options(m);
    register_model_options(m);
}

}  // namespace asio_infer::bindings
