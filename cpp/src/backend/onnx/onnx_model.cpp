#include "backend/onnx/onnx_model.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "backend/onnx/library.hpp"
#include "backend/onnx/log_router.hpp"
#include "backend/onnx/onnx_instance.hpp"
#include "backend/onnx/session_options.hpp"
#include "backend/onnx/signature.hpp"

namespace asio_infer::ort {
namespace {

[[noreturn]] void refuse_file(const std::string& path, const std::string& reason) {
    throw exception(errc::invalid_request, "cannot load '" + path + "': " + reason);
}

/// The absolute path of a model's file. Looks at what it is before anything opens it: opening a FIFO would wait for
/// a writer.
std::filesystem::path checked_path(const std::string& text) {
    const std::filesystem::path path = path_from_utf8(text);
    std::error_code failure;
    const std::filesystem::file_status status = std::filesystem::status(path, failure);
    if (status.type() == std::filesystem::file_type::not_found) refuse_file(text, "there is no such file");
    if (failure) refuse_file(text, failure.message());
    if (std::filesystem::is_directory(status)) refuse_file(text, "it is a directory");
    if (!std::filesystem::is_regular_file(status)) refuse_file(text, "it is not a regular file");
    if (!std::ifstream(path)) refuse_file(text, "it cannot be read (permission denied?)");
    const auto size = std::filesystem::file_size(path, failure);
    if (!failure && size == 0) refuse_file(text, "it is empty");
    auto absolute = std::filesystem::absolute(path, failure);
    if (failure) refuse_file(text, failure.message());
    return absolute;
}

/// Where a model comes from: a file or memory.
class model_source {
public:
    explicit model_source(const model_options& options) : options_(options) {
        if (!options.path.empty())
            path_ = checked_path(options.path);
        else if (options.bytes.empty())
            throw exception(errc::invalid_request, "model '" + options.name + "' has neither a path nor any bytes");
        else
            refuse_borrowed_bytes();
    }

    handle<OrtSession> open(const runtime& rt, const OrtSessionOptions* session_options) const {
        try {
            if (!path_.empty())
                return create<OrtSession>(rt.api(), &ort_api::CreateSession, rt.env(), path_.c_str(), session_options);
            return create<OrtSession>(rt.api(), &ort_api::CreateSessionFromArray, rt.env(),
                                      static_cast<const void*>(options_.bytes.data()), options_.bytes.size(),
                                      session_options);
        } catch (const exception& failure) {
            throw exception(failure.code(), "cannot load " + in_words() + ": " + failure.what());
        }
    }

    std::string in_words() const {
        return path_.empty()
                   ? "model '" + options_.name + "' from its " + std::to_string(options_.bytes.size()) + " bytes"
                   : "'" + options_.path + "'";
    }

private:
    /// The session would go on using memory that is the caller's.
    void refuse_borrowed_bytes() const {
        for (const auto& [key, value] : options_.session_config_entries)
            if (key == "session.use_ort_model_bytes_directly" && value != "0")
                throw exception(errc::invalid_request, "session config entry '" + key + "' works with a path only");
    }

    const model_options& options_;
    std::filesystem::path path_;
};

class onnx_model final : public backend_model {
public:
    onnx_model(runtime& rt, const model_options& options, const backend_context& context)
        : logging_(rt.logs(), context.log), shared_{rt, spec_, context.workers} {
        const model_source source(options);
        const session_setup setup = make_session_setup(rt, options, context.log);
        handle<OrtSession> first = source.open(rt, setup.options.get());
        describe(read_signature(rt, first.get()), setup, options);
        instances_.reserve(options.instances);
        add_instance(std::move(first), setup);
        while (instances_.size() < options.instances) add_instance(source.open(rt, setup.options.get()), setup);
    }

    const model_spec& spec() const noexcept override { return spec_; }
    std::uint32_t instance_count() const noexcept override { return static_cast<std::uint32_t>(instances_.size()); }
    backend_instance& instance(std::uint32_t index) noexcept override { return *instances_[index]; }

private:
    void describe(signature from_session, const session_setup& setup, const model_options& options) {
        spec_.name = options.name;
        spec_.version = options.version;
        spec_.platform = "onnxruntime_onnx";
        spec_.backend = "onnxruntime";
        spec_.inputs = std::move(from_session.inputs);
        spec_.outputs = std::move(from_session.outputs);
        spec_.instances = options.instances;
        spec_.providers = setup.providers;
    }
    void add_instance(handle<OrtSession> session, const session_setup& setup) {
        instances_.push_back(std::make_unique<onnx_instance>(shared_, std::move(session), setup.log_severity_given));
    }

    const log_attachment logging_;
    model_spec spec_;
    const model_context shared_;
    std::vector<std::unique_ptr<onnx_instance>> instances_;
};

}  // namespace
}  // namespace asio_infer::ort

namespace asio_infer {

std::unique_ptr<backend_model> load_onnx(const model_options& options, const backend_context& context) {
    if (options.instances == 0) throw exception(errc::invalid_request, "instances must be at least 1");
    ort::runtime& rt = ort::runtime::get(context.runtime, context.log);
    return std::make_unique<ort::onnx_model>(rt, options, context);
}

}  // namespace asio_infer
