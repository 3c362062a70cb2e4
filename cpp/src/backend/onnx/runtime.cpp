#include "backend/onnx/runtime.hpp"

#include <asio_infer/runtime_error.hpp>
#include <map>
#include <memory>
#include <mutex>

#include "backend/onnx/library.hpp"
#include "core/cpu_count.hpp"

namespace asio_infer::ort {
namespace {

constexpr const char* how_to_install =
    "ONNX Runtime is needed for ONNX models. Install it: pip install \"asio_infer[cpu]\", or \"asio_infer[gpu]\" for "
    "CUDA";

struct library_table {
    std::mutex mutex;
    std::map<std::string, runtime*> runtimes;  ///< by library path
};

/// Never destroyed, nor is what it holds: see the class.
library_table& libraries() {
    static library_table& table = *new library_table;
    return table;
}

ort_api load_api(const std::string& library) {
    const std::filesystem::path path = path_from_utf8(library);
    std::error_code ignored;
    if (library.empty()) throw runtime_unavailable(how_to_install);
    if (!std::filesystem::is_regular_file(path, ignored))
        throw runtime_unavailable("there is no file '" + library + "'. " + how_to_install);
    // Some builds of the runtime report usage to their maker unless this is set before the environment exists.
    set_environment("ORT_DISABLE_TELEMETRY", "1");
    return bind_api(open_library(path), library);
}

}  // namespace

runtime& runtime::get(const runtime_options& options, log_sink& log) {
    library_table& table = libraries();
    const std::lock_guard lock(table.mutex);
    runtime*& made = table.runtimes[options.library_path];
    const unsigned asked = options.intra_op_threads;
    if (made == nullptr) made = new runtime(options.library_path, asked != 0 ? asked : usable_cores(), log);
    if (asked != 0 && made->threads() != asked)
        log.write(log_level::warning, "the process's ONNX Runtime keeps the number of threads it was started with",
                  {{"asked", std::uint64_t{asked}}, {"threads", std::uint64_t{made->threads()}}});
    return *made;
}

std::string runtime::loaded_version() {
    library_table& table = libraries();
    const std::lock_guard lock(table.mutex);
    for (const auto& [path, made] : table.runtimes)
        if (made != nullptr) return made->api().version;
    return {};
}

runtime::runtime(const std::string& library, unsigned threads, log_sink& log)
    : threads_(threads), process_(process_id()), api_(load_api(library)) {
    const log_attachment listening(logs_, log);
    env_ = make_env();
    check(api_, api_.DisableTelemetryEvents(env_.get()));
    cpu_memory_ = create<OrtMemoryInfo>(api_, &ort_api::CreateCpuMemoryInfo, OrtArenaAllocator, OrtMemTypeDefault);
    allocator_ = ort::get<OrtAllocator*>(api_, &ort_api::GetAllocatorWithDefaultOptions);
}

handle<OrtEnv> runtime::make_env() {
    const auto threading = create<OrtThreadingOptions>(api_, &ort_api::CreateThreadingOptions);
    // A given number also keeps the runtime from pinning its threads, which fails inside a CPU set.
    check(api_, api_.SetGlobalIntraOpNumThreads(threading.get(), static_cast<int>(threads_)));
    check(api_, api_.SetGlobalInterOpNumThreads(threading.get(), 1));
    check(api_, api_.SetGlobalSpinControl(threading.get(), 0));
    return create<OrtEnv>(api_, &ort_api::CreateEnvWithCustomLoggerAndGlobalThreadPools, &log_router::on_record,
                          static_cast<void*>(&logs_), ORT_LOGGING_LEVEL_WARNING, "asio_infer",
                          static_cast<const OrtThreadingOptions*>(threading.get()));
}

bool runtime::has_shared_threads() const noexcept { return process_ == process_id(); }

}  // namespace asio_infer::ort
