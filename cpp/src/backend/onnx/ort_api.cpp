#include "backend/onnx/ort_api.hpp"

#include <asio_infer/runtime_error.hpp>
#include <charconv>

namespace asio_infer::ort {
namespace {

[[noreturn]] void refuse_version(std::string_view library, std::string_view version) {
    throw runtime_version_error("ONNX Runtime " + std::string(version) + " (" + std::string(library) +
                                ") cannot be used: this program needs 1." + std::to_string(oldest_minor) +
                                " or later. Install one: pip install --upgrade \"asio_infer[cpu]\"");
}

/// The table's entries have different types; each is read as the type that its row says.
template <class Function>
void read_slot(Function& function, const OrtApi* table, std::size_t slot) {
    void (*const* slots)() = reinterpret_cast<void (*const*)()>(table);
    function = reinterpret_cast<Function>(slots[slot]);
}

}  // namespace

std::optional<ort_version> parse_version(std::string_view text) noexcept {
    ort_version version;
    const char* const end = text.data() + text.size();
    const auto major = std::from_chars(end - text.size(), end, version.major);
    if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
    const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
    if (minor.ec != std::errc{} || (minor.ptr != end && *minor.ptr != '.')) return std::nullopt;
    return version;
}

ort_api bind_api(const OrtApiBase& base, std::string_view library) {
    const char* const text = base.GetVersionString();
    const std::string version_text = text != nullptr ? text : "(unknown)";
    const auto version = parse_version(version_text);
    if (!version || version->major != 1 || version->minor < oldest_minor) refuse_version(library, version_text);

    ort_api api;
    api.version = version_text;
    api.api_version = version->minor < known_api_version ? version->minor : known_api_version;
    const OrtApi* const table = base.GetApi(api.api_version);
    if (table == nullptr) refuse_version(library, version_text);

// NOLINTBEGIN(bugprone-macro-parentheses): `name` is a member's name
#define ASIO_INFER_ORT_READ(slot, since, returns, name, parameters) \
    if (api.api_version >= since) read_slot(api.name, table, slot);
    ASIO_INFER_ORT_SLOTS(ASIO_INFER_ORT_READ)
#undef ASIO_INFER_ORT_READ
    // NOLINTEND(bugprone-macro-parentheses)
    return api;
}

status_text take_status(const ort_api& api, OrtStatus* status) {
    if (status == nullptr) return {};
    // Owned at once: copying the text may throw.
    const std::unique_ptr<OrtStatus, void (*)(OrtStatus*)> owned(status, api.ReleaseStatus);
    const char* const message = api.GetErrorMessage(status);
    return {api.GetErrorCode(status), message != nullptr ? message : ""};
}

void check(const ort_api& api, OrtStatus* status) {
    if (status != nullptr) throw exception(errc::model_error, take_status(api, status).message);
}

}  // namespace asio_infer::ort
