#include "metrics/metric_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "metrics/sample_writer.hpp"

using namespace asio_infer;

namespace {

struct idle_model final : served_model {
    explicit idle_model(std::string name, std::int64_t version = 1) {
        spec_.name = std::move(name);
        spec_.version = version;
    }
    bool ready() const noexcept override { return true; }
    void submit(infer_call_ptr, task_executor*, bool) noexcept override {}
    void cancel(const call_receiver&) noexcept override {}
    void open() noexcept override {}
    void close(const error&, bool) noexcept override {}
};

struct silent_log final : log_sink {
    bool enabled(log_level) const noexcept override { return false; }
    void write(log_level, std::string_view, std::initializer_list<log_field>) noexcept override {}
    std::uint64_t dropped() const noexcept override { return 17; }
};

struct world {
    std::vector<model_ptr> models;
    server_stats server;
    byte_budget inflight{1'000};
    process_info process;
    silent_log log;

    std::string text() const {
        return render_prometheus({models, server, inflight, process, log, {"1.2.3", "1.19.2"}});
    }
    std::vector<std::string> lines() const {
        std::istringstream in(text());
        std::vector<std::string> found;
        for (std::string line; std::getline(in, line);) found.push_back(line);
        return found;
    }
    bool has(const std::string& line) const {
        const std::vector<std::string> all = lines();
        return std::find(all.begin(), all.end(), line) != all.end();
    }
};

/// The lines of one metric from its HELP on.
std::string part_of(const std::string& text, const std::string& name) {
    const std::size_t begin = text.find("# HELP " + name + " ");
    const std::size_t end = text.find("# HELP ", begin + 1);
    return begin == std::string::npos ? "" : text.substr(begin, end - begin);
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The project's root: CTest says where it is, otherwise this file does.
std::string project_root() {
    if (const char* const root = std::getenv("ASIO_INFER_SOURCE_DIR")) return root;
    const std::string here = __FILE__;
    return here.substr(0, here.find("tests/cpp/")) + ".";
}

}  // namespace

TEST_CASE("the catalogue: names and types that dashboards rely on") {
    const std::map<std::string_view, metric_type> expected{
        {"nv_inference_request_success", metric_type::counter},
        {"nv_inference_request_failure", metric_type::counter},
        {"nv_inference_count", metric_type::counter},
        {"nv_inference_exec_count", metric_type::counter},
        {"nv_inference_pending_request_count", metric_type::gauge},
        {"nv_inference_request_duration_us", metric_type::counter},
        {"nv_inference_queue_duration_us", metric_type::counter},
        {"nv_inference_compute_input_duration_us", metric_type::counter},
        {"nv_inference_compute_infer_duration_us", metric_type::counter},
        {"nv_inference_compute_output_duration_us", metric_type::counter},
        {"asio_infer_request_seconds", metric_type::histogram},
        {"asio_infer_queue_seconds", metric_type::histogram},
        {"asio_infer_run_seconds", metric_type::histogram},
        {"asio_infer_batch_rows", metric_type::histogram},
        {"asio_infer_requests_running", metric_type::gauge},
        {"asio_infer_http_requests_total", metric_type::counter},
        {"asio_infer_http_responses_total", metric_type::counter},
        {"asio_infer_http_refused_total", metric_type::counter},
        {"asio_infer_connections_open", metric_type::gauge},
        {"asio_infer_connections_accepted_total", metric_type::counter},
        {"asio_infer_tls_handshake_failures_total", metric_type::counter},
        {"asio_infer_connections_refused_total", metric_type::counter},
        {"asio_infer_shared_memory_regions", metric_type::gauge},
        {"asio_infer_received_bytes_total", metric_type::counter},
        {"asio_infer_sent_bytes_total", metric_type::counter},
        {"asio_infer_inflight_bytes", metric_type::gauge},
        {"asio_infer_inflight_limit_bytes", metric_type::gauge},
        {"asio_infer_log_records_dropped_total", metric_type::counter},
        {"asio_infer_build_info", metric_type::gauge},
        {"process_cpu_seconds_total", metric_type::counter},
        {"process_resident_memory_bytes", metric_type::gauge},
        {"process_virtual_memory_bytes", metric_type::gauge},
        {"process_open_fds", metric_type::gauge},
        {"process_max_fds", metric_type::gauge},
        {"process_threads", metric_type::gauge},
        {"process_start_time_seconds", metric_type::gauge},
    };
    CHECK(metric_set().size() == expected.size());
    for (const metric& row : metric_set()) {
        CAPTURE(row.name);
        const auto found = expected.find(row.name);
        REQUIRE(found != expected.end());
        CHECK(row.type == found->second);
        CHECK_FALSE(row.help.empty());
        CHECK(row.help.find_first_of("\\\n|") == std::string_view::npos);
    }
}

TEST_CASE("a server without models shows its own metrics and no series of models") {
    world w;
    w.server.requests = 18'446'744'073'709'551'615u;
    w.server.responses[2] = 5;
    w.server.refused[static_cast<std::size_t>(errc::not_found)] = 3;
    w.server.connections_open = 2;
    REQUIRE(w.inflight.try_take(400));
    CHECK(w.text().find("nv_inference") == std::string::npos);
    CHECK(w.text().find("process_") == std::string::npos);
    CHECK(w.has("asio_infer_http_requests_total 18446744073709551615"));
    CHECK(w.has(R"(asio_infer_http_responses_total{class="2xx"} 5)"));
    CHECK(w.has(R"(asio_infer_http_responses_total{class="5xx"} 0)"));
    CHECK(w.has(R"(asio_infer_http_refused_total{reason="not_found"} 3)"));
    CHECK(w.has("asio_infer_connections_open 2"));
    CHECK(w.has("asio_infer_inflight_bytes 400"));
    CHECK(w.has("asio_infer_inflight_limit_bytes 1000"));
    CHECK(w.has("asio_infer_log_records_dropped_total 17"));
    CHECK(part_of(w.text(), "asio_infer_build_info").find(R"({version="1.2.3",onnxruntime="1.19.2",boost="1_)") !=
          std::string::npos);
    CHECK(w.text().back() == '\n');
}

TEST_CASE("a model's series, letter by letter") {
    world w;
    const auto model = std::make_shared<idle_model>("add", 3);
    w.models = {model};
    model_stats& stats = model->stats();
    stats.success.add(4, 7'654'999);
    stats.inferences = 9;
    stats.pending = -1;
    stats.record_failure(errc::queue_full, 1);
    stats.record_failure(errc::unavailable, 1);
    stats.record_failure(errc::model_error, 1);
    stats.record_failure(errc::cancelled, 1);
    stats.record_failure(errc::invalid_request, 1);
    for (const double rows : {1.0, 2.0, 3.0, 512.0, 600.0}) stats.batch_rows.record(rows);
    stats.run_seconds.record(0.00004);
    stats.run_seconds.record(0.5);

    CHECK(part_of(w.text(), "nv_inference_request_success") ==
          "# HELP nv_inference_request_success Requests that were answered with a result.\n"
          "# TYPE nv_inference_request_success counter\n"
          "nv_inference_request_success{model=\"add\",version=\"3\"} 4\n");
    CHECK(w.has(R"(nv_inference_request_duration_us{model="add",version="3"} 7654)"));
    CHECK(w.has(R"(nv_inference_count{model="add",version="3"} 9)"));
    CHECK(w.has(R"(nv_inference_pending_request_count{model="add",version="3"} -1)"));
    CHECK(w.has(R"(nv_inference_request_failure{model="add",version="3",reason="REJECTED"} 2)"));
    CHECK(w.has(R"(nv_inference_request_failure{model="add",version="3",reason="CANCELED"} 1)"));
    CHECK(w.has(R"(nv_inference_request_failure{model="add",version="3",reason="BACKEND"} 1)"));
    CHECK(w.has(R"(nv_inference_request_failure{model="add",version="3",reason="OTHER"} 1)"));
    CHECK(part_of(w.text(), "asio_infer_batch_rows") ==
          R"(# HELP asio_infer_batch_rows Rows in one run of the model.
# TYPE asio_infer_batch_rows histogram
asio_infer_batch_rows_bucket{model="add",version="3",le="1"} 1
asio_infer_batch_rows_bucket{model="add",version="3",le="2"} 2
asio_infer_batch_rows_bucket{model="add",version="3",le="4"} 3
asio_infer_batch_rows_bucket{model="add",version="3",le="8"} 3
asio_infer_batch_rows_bucket{model="add",version="3",le="16"} 3
asio_infer_batch_rows_bucket{model="add",version="3",le="32"} 3
asio_infer_batch_rows_bucket{model="add",version="3",le="64"} 3
asio_infer_batch_rows_bucket{model="add",version="3",le="128"} 3
asio_infer_batch_rows_bucket{model="add",version="3",le="256"} 3
asio_infer_batch_rows_bucket{model="add",version="3",le="512"} 4
asio_infer_batch_rows_bucket{model="add",version="3",le="+Inf"} 5
asio_infer_batch_rows_sum{model="add",version="3"} 1118
asio_infer_batch_rows_count{model="add",version="3"} 5
)");
    CHECK(w.has(R"(asio_infer_run_seconds_bucket{model="add",version="3",le="5e-05"} 1)"));
    CHECK(w.has(R"(asio_infer_run_seconds_sum{model="add",version="3"} 0.50004)"));
}

TEST_CASE("each metric is described once, and its series stand together") {
    world w;
    w.models = {std::make_shared<idle_model>("a", 1), std::make_shared<idle_model>("a", 2),
                std::make_shared<idle_model>("b", 1)};
    w.process = {1, 2, 3, 4, 5, 6.5, 7.25};
    std::set<std::string> described;
    std::string current;
    for (const std::string& line : w.lines()) {
        CAPTURE(line);
        if (line.rfind("# HELP ", 0) == 0) {
            current = line.substr(7, line.find(' ', 7) - 7);
            CHECK(described.insert(current).second);
        } else if (line.rfind("# TYPE ", 0) == 0) {
            CHECK(line.substr(7, line.find(' ', 7) - 7) == current);
        } else {
            CHECK(line.rfind(current, 0) == 0);
        }
    }
    CHECK(described.size() == metric_set().size());
    CHECK(w.has("process_resident_memory_bytes 1"));
    CHECK(w.has("process_cpu_seconds_total 6.5"));
    CHECK(w.has("process_start_time_seconds 7.25"));
}

TEST_CASE("names of models are escaped as labels") {
    world w;
    w.models = {std::make_shared<idle_model>("a \"b\"\\\n\xc3\xa9,}")};
    CHECK(w.has("nv_inference_count{model=\"a \\\"b\\\"\\\\\\n\xc3\xa9,}\",version=\"1\"} 0"));
}

TEST_CASE("numbers that are none have Prometheus' names") {
    const metric row{"m", metric_type::gauge, "", "", "Help.", nullptr};
    std::string out;
    sample_writer writer(out, row);
    writer.sample({}, std::numeric_limits<double>::infinity());
    writer.sample({}, -std::numeric_limits<double>::infinity());
    writer.sample({}, std::numeric_limits<double>::quiet_NaN());
    writer.sample({}, 3.0);
    CHECK(out == "# HELP m Help.\n# TYPE m gauge\nm +Inf\nm -Inf\nm NaN\nm 3\n");
}

TEST_CASE("docs/metrics.md is what the table says") {
    const std::string path = project_root() + "/docs/metrics.md";
    // To bring the page up to date: ASIO_INFER_UPDATE_DOCS=1 test_unit --source-file=*test_metric_set.cpp
    if (std::getenv("ASIO_INFER_UPDATE_DOCS") != nullptr) std::ofstream(path, std::ios::binary) << metrics_markdown();
    CHECK(read_file(path) == metrics_markdown());
}
