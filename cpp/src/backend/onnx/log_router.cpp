#include "backend/onnx/log_router.hpp"

#include <algorithm>
#include <exception>
#include <string_view>

namespace asio_infer::ort {
namespace {

log_level level_of(OrtLoggingLevel severity) noexcept {
    switch (severity) {
        case ORT_LOGGING_LEVEL_VERBOSE:
            return log_level::debug;
        case ORT_LOGGING_LEVEL_INFO:
            return log_level::info;
        case ORT_LOGGING_LEVEL_WARNING:
            return log_level::warning;
        default:
            return log_level::error;
    }
}

std::string_view text_of(const char* text) noexcept { return text != nullptr ? text : ""; }

}  // namespace

void log_router::attach(log_sink& sink) {
    const std::lock_guard lock(mutex_);
    sinks_.push_back(&sink);
}

void log_router::detach(log_sink& sink) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = std::find(sinks_.rbegin(), sinks_.rend(), &sink);
    if (found != sinks_.rend()) sinks_.erase(std::next(found).base());
}

void log_router::on_record(void* router, OrtLoggingLevel severity, const char* category, const char* logid,
                           const char* code_location, const char* message) {
    static_cast<log_router*>(router)->write(level_of(severity), category, logid, code_location, message);
}

void log_router::write(log_level level, const char* category, const char* logid, const char* code_location,
                       const char* message) noexcept {
    const std::lock_guard lock(mutex_);
    if (sinks_.empty() || !sinks_.back()->enabled(level)) return;
    sinks_.back()->write(level, "onnxruntime",
                         {{"text", text_of(message)},
                          {"category", text_of(category)},
                          {"logid", text_of(logid)},
                          {"location", text_of(code_location)}});
}

}  // namespace asio_infer::ort
