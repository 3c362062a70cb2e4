#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio_infer {

using string_map = std::vector<std::pair<std::string, std::string>>;

/// How requests of one model are joined. Limits count rows.
struct batching_options {
    enum class mode { automatic, on, off };
    /// automatic: joined if the model looks batchable and the probe agrees. on: the user says so; an impossible
    /// model is an error at load. off: each request runs alone.
    mode choice = mode::automatic;
    std::uint32_t max_rows = 32;
    double max_delay_s = 0;  ///< extra wait for a batch to fill; 0 never holds a request while an instance is idle
};

struct queue_options {
    std::uint32_t max_size = 256;  ///< requests that wait; one more is `queue_full`
    double timeout_s = 0;          ///< longest wait; 0 is none
};

/// TLS for the server's port: paths of PEM files.
struct tls_options {
    std::string certificate;  ///< the server's certificate and those that lead to its root
    std::string key;          ///< its private key, without a passphrase
    std::string client_ca;    ///< if given, clients must have a certificate that one of these has signed
    bool reload = true;       ///< look for changed files when connections come
};

/// A caller that the server knows by a token, of which it knows the hash only.
struct key_options {
    std::string name;    ///< for the log
    std::string sha256;  ///< of the token, as 64 hexadecimal digits
    bool read = false;
    bool infer = false;
    bool control = false;
    std::vector<std::string> models;  ///< patterns ("*", "?") of the models it may use; empty: all
};

/// Who may use the server.
struct auth_options {
    std::vector<key_options> keys;
    bool public_liveness = false;  ///< whether the server lives is told to everybody
};

/// Everything about a model that is not its bytes.
struct model_options {
    std::string name;
    std::int64_t version = 1;
    std::string backend = "onnx";  ///< a row of backend_table: "onnx", "identity"
    std::string path;              ///< UTF-8; external weights are found beside it
    std::vector<std::byte> bytes;  ///< used when path is empty
    std::uint32_t instances = 1;
    batching_options batching;
    queue_options queue;
    bool warmup = true;
    bool replace = false;  ///< the same name and version: swap instead of `already_exists`

    /// Execution providers, best first, each with its options; empty: what the runtime offers by itself.
    std::vector<std::pair<std::string, string_map>> providers;
    /// onnxruntime.SessionOptions attributes and config entries by their names, values as text.
    string_map session_attributes;
    string_map session_config_entries;
    /// Backend's own settings (identity: "delay_s", "fail", "datatype", "shape").
    string_map backend_options;
};

/// Where ONNX Runtime is: found by the Python layer beside the user's `onnxruntime*` wheel.
struct runtime_options {
    std::string library_path;
    std::uint32_t intra_op_threads = 0;  ///< size of the shared pool; 0: the cores that the process may use
};

}  // namespace asio_infer
