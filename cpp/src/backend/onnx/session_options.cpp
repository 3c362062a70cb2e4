#include "backend/onnx/session_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "backend/onnx/library.hpp"
#include "backend/onnx/providers.hpp"

namespace asio_infer::ort {
namespace {

constexpr int most_threads = 1024;

/// One attribute with its value, as the user wrote it.
struct attribute {
    std::string_view name;
    std::string_view value;

    [[noreturn]] void refuse(std::string_view expected) const {
        throw exception(errc::invalid_request, "session option '" + std::string(name) + "' takes " +
                                                   std::string(expected) + ", not '" + std::string(value) + "'");
    }
    int to_int(int least, int most) const {
        int number = 0;
        const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (failure != std::errc{} || end != value.data() + value.size() || number < least || number > most)
            refuse("an integer from " + std::to_string(least) + " to " + std::to_string(most));
        return number;
    }
    bool to_bool() const {
        if (value == "1" || value == "true" || value == "True") return true;
        if (value == "0" || value == "false" || value == "False") return false;
        refuse("true or false");
    }
};

/// A value that has a name in onnxruntime's enumerations, where it may be written with the enumeration's own name:
/// "GraphOptimizationLevel.ORT_ENABLE_ALL".
struct named_value {
    std::string_view name;
    int value;
};
constexpr std::array<named_value, 5> optimization_levels{{{"ORT_DISABLE_ALL", 0},
                                                          {"ORT_ENABLE_BASIC", 1},
                                                          {"ORT_ENABLE_EXTENDED", 2},
                                                          {"ORT_ENABLE_LAYOUT", 3},
                                                          {"ORT_ENABLE_ALL", 99}}};
constexpr std::array<named_value, 2> execution_modes{{{"ORT_SEQUENTIAL", 0}, {"ORT_PARALLEL", 1}}};

template <std::size_t N>
int to_enum(const attribute& a, const std::array<named_value, N>& values) {
    const std::string_view last = a.value.substr(a.value.rfind('.') + 1);
    std::string expected = "one of";
    for (const named_value& v : values) {
        if (last == v.name || last == std::to_string(v.value)) return v.value;
        expected += " " + std::string(v.name);
    }
    a.refuse(expected);
}

/// The options under construction, and what can only be applied once all attributes are known.
struct draft {
    const ort_api& api;
    OrtSessionOptions* options;
    std::optional<int> intra_op_threads;
    std::optional<int> inter_op_threads;
    bool parallel = false;
    bool own_threads = false;
    bool profile = false;
    bool log_severity_given = false;
    std::string profile_prefix = "onnxruntime_profile_";

    void check(OrtStatus* status) const { ort::check(api, status); }
};

struct dimension {
    std::string name;
    std::int64_t size;
};

/// "batch=1"
dimension to_dimension(const attribute& a) {
    const std::size_t equals = a.value.rfind('=');
    if (equals == a.value.npos || equals == 0) a.refuse("NAME=SIZE");
    const std::string_view digits = a.value.substr(equals + 1);
    dimension d{std::string(a.value.substr(0, equals)), 0};
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), d.size);
    if (failure != std::errc{} || end != digits.data() + digits.size() || d.size < 1) a.refuse("NAME=SIZE");
    return d;
}

struct attribute_row {
    std::string_view name;
    void (*apply)(draft& d, const attribute& a);
};

/// To support another attribute: add a row.
constexpr std::array<attribute_row, 16> attributes{{
    {"graph_optimization_level",
     [](draft& d, const attribute& a) {
         const auto level = static_cast<GraphOptimizationLevel>(to_enum(a, optimization_levels));
         d.check(d.api.SetSessionGraphOptimizationLevel(d.options, level));
     }},
    {"execution_mode", [](draft& d, const attribute& a) { d.parallel = to_enum(a, execution_modes) == ORT_PARALLEL; }},
    {"intra_op_num_threads", [](draft& d, const attribute& a) { d.intra_op_threads = a.to_int(0, most_threads); }},
    {"inter_op_num_threads", [](draft& d, const attribute& a) { d.inter_op_threads = a.to_int(0, most_threads); }},
    {"use_per_session_threads", [](draft& d, const attribute& a) { d.own_threads = a.to_bool(); }},
    {"enable_cpu_mem_arena",
     [](draft& d, const attribute& a) {
         d.check(a.to_bool() ? d.api.EnableCpuMemArena(d.options) : d.api.DisableCpuMemArena(d.options));
     }},
    {"enable_mem_pattern",
     [](draft& d, const attribute& a) {
         d.check(a.to_bool() ? d.api.EnableMemPattern(d.options) : d.api.DisableMemPattern(d.options));
     }},
    {"use_deterministic_compute",
     [](draft& d, const attribute& a) { d.check(d.api.SetDeterministicCompute(d.options, a.to_bool())); }},
    {"logid",
     [](draft& d, const attribute& a) { d.check(d.api.SetSessionLogId(d.options, std::string(a.value).c_str())); }},
    {"log_severity_level",
     [](draft& d, const attribute& a) {
         d.check(d.api.SetSessionLogSeverityLevel(d.options, a.to_int(-1, ORT_LOGGING_LEVEL_FATAL)));
         d.log_severity_given = a.value != "-1";
     }},
    {"log_verbosity_level",
     [](draft& d, const attribute& a) {
         d.check(d.api.SetSessionLogVerbosityLevel(d.options, a.to_int(0, most_threads)));
     }},
    {"optimized_model_filepath",
     [](draft& d, const attribute& a) {
         if (a.value.empty()) return;
         d.check(d.api.SetOptimizedModelFilePath(d.options, path_from_utf8(a.value).c_str()));
     }},
    {"enable_profiling", [](draft& d, const attribute& a) { d.profile = a.to_bool(); }},
    {"profile_file_prefix", [](draft& d, const attribute& a) { d.profile_prefix = a.value; }},
    {"add_free_dimension_override_by_name",
     [](draft& d, const attribute& a) {
         const dimension dim = to_dimension(a);
         d.check(d.api.AddFreeDimensionOverrideByName(d.options, dim.name.c_str(), dim.size));
     }},
    {"add_free_dimension_override_by_denotation",
     [](draft& d, const attribute& a) {
         const dimension dim = to_dimension(a);
         d.check(d.api.AddFreeDimensionOverride(d.options, dim.name.c_str(), dim.size));
     }},
}};

void apply(draft& d, const attribute& a) {
    for (const attribute_row& row : attributes)
        if (row.name == a.name) return row.apply(d, a);
    std::string known;
    for (const attribute_row& row : attributes) known += (known.empty() ? "" : ", ") + std::string(row.name);
    throw exception(errc::invalid_request, "unknown session option '" + std::string(a.name) + "'. There are: " + known);
}

/// A model that asks for a number of threads, or for parallel branches, gets a pool of its own.
void apply_threads(const draft& d, const runtime& rt) {
    const bool asked =
        d.own_threads || d.parallel || d.intra_op_threads.value_or(0) > 0 || d.inter_op_threads.value_or(0) > 0;
    if (!asked && rt.has_shared_threads()) return d.check(d.api.DisablePerSessionThreads(d.options));
    const auto given_or_all = [&](std::optional<int> count) {
        return count.value_or(0) > 0 ? *count : static_cast<int>(rt.threads());
    };
    d.check(d.api.SetIntraOpNumThreads(d.options, given_or_all(d.intra_op_threads)));
    d.check(d.api.SetInterOpNumThreads(d.options, d.parallel ? given_or_all(d.inter_op_threads) : 1));
    d.check(d.api.SetSessionExecutionMode(d.options, d.parallel ? ORT_PARALLEL : ORT_SEQUENTIAL));
}

void add_config_entries(const draft& d, const string_map& given) {
    // Threads that spin while they wait would take the cores of the network threads.
    for (const char* key : {"session.intra_op.allow_spinning", "session.inter_op.allow_spinning"})
        if (std::none_of(given.begin(), given.end(), [&](const auto& entry) { return entry.first == key; }))
            d.check(d.api.AddSessionConfigEntry(d.options, key, "0"));
    for (const auto& [key, value] : given) {
        const status_text status =
            take_status(d.api, d.api.AddSessionConfigEntry(d.options, key.c_str(), value.c_str()));
        if (status.code != ORT_OK)
            throw exception(errc::invalid_request, "session config entry '" + key + "': " + status.message);
    }
}

}  // namespace

session_setup make_session_setup(const runtime& rt, const model_options& model, log_sink& log) {
    const ort_api& api = rt.api();
    session_setup setup{.options = create<OrtSessionOptions>(api, &ort_api::CreateSessionOptions), .providers = {}};
    draft d{.api = api, .options = setup.options.get(), .intra_op_threads = {}, .inter_op_threads = {}};
    d.check(api.SetSessionLogId(d.options, model.name.c_str()));
    for (const auto& [name, value] : model.session_attributes) apply(d, {name, value});
    apply_threads(d, rt);
    if (d.profile) d.check(api.EnableProfiling(d.options, path_from_utf8(d.profile_prefix).c_str()));
    add_config_entries(d, model.session_config_entries);
    setup.providers = add_providers(api, d.options, model.providers, log);
    setup.log_severity_given = d.log_severity_given;
    return setup;
}

}  // namespace asio_infer::ort
