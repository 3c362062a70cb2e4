#include "backend/backend_table.hpp"

#include <array>
#include <string>

#include "backend/identity/identity_model.hpp"
#include "backend/onnx/onnx_model.hpp"
#include "backend/onnx/runtime.hpp"

namespace asio_infer {
namespace {

struct backend_row {
    std::string_view name;
    std::unique_ptr<backend_model> (*load)(const model_options& options, const backend_context& context);
};

/// To add a backend: one row.
constexpr std::array<backend_row, 2> backend_table{{
    {"onnx", load_onnx},
    {"identity", load_identity},
}};

}  // namespace

std::string onnxruntime_version() { return ort::runtime::loaded_version(); }

std::unique_ptr<backend_model> make_backend_model(std::string_view name, const model_options& options,
                                                  const backend_context& context) {
    std::string known;
    for (const backend_row& row : backend_table) {
        if (row.name == name) return row.load(options, context);
        known += (known.empty() ? "" : ", ") + std::string(row.name);
    }
    throw exception(errc::invalid_request, "unknown backend '" + std::string(name) + "'. There are: " + known);
}

}  // namespace asio_infer
