#include <string>

#include "metrics/metric_set.hpp"

namespace asio_infer {

namespace {

constexpr std::string_view introduction = R"(# Metrics

`GET /metrics` answers in the Prometheus text format (version 0.0.4). This page is made from the table in
`cpp/src/metrics/metric_set.cpp`; a test compares the two.

The label `model` is the name of a model that is loaded and `version` its version. Names that only occur in requests
never become labels. The reasons of `nv_inference_request_failure` are Triton's: `REJECTED` (the queue was full, the
server was not ready or the time ran out), `CANCELED`, `BACKEND` (the run failed) and `OTHER` (the request was
invalid). Histograms have the series `_bucket`, `_sum` and `_count`. Metrics of the process are left out where the
operating system does not tell.

| metric | type | unit | labels | meaning |
|---|---|---|---|---|
)";

std::string cell(std::string_view text) {
    std::string out = " ";
    if (!text.empty()) out.append(text).append(" ");
    return out += '|';
}

}  // namespace

std::string metrics_markdown() {
    std::string page(introduction);
    for (const metric& row : metric_set()) {
        page += "| `" + std::string(row.name) + "` |";
        page += cell(name(row.type)) + cell(row.unit) + cell(row.labels) + cell(row.help) + '\n';
    }
    return page;
}

}  // namespace asio_infer
