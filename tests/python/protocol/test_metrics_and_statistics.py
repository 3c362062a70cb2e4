"""What the server says of its work adds up: each request is counted once, under what became of it."""

from typing import Any

import pytest
import wire
from prometheus_client.parser import text_string_to_metric_families
from servers import Model, Served, StartServer

X = wire.tensor("INPUT0", [[1.5]])
MODEL_METRICS = {
    "nv_inference_request_success": "counter",
    "nv_inference_request_failure": "counter",
    "nv_inference_count": "counter",
    "nv_inference_exec_count": "counter",
    "nv_inference_pending_request_count": "gauge",
    "nv_inference_request_duration_us": "counter",
    "nv_inference_queue_duration_us": "counter",
    "nv_inference_compute_input_duration_us": "counter",
    "nv_inference_compute_infer_duration_us": "counter",
    "nv_inference_compute_output_duration_us": "counter",
}


def families(served: Served) -> dict[str, Any]:
    """The metrics by name, read by the parser of Prometheus's own client."""
    answer = served.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    text = answer.body.decode()
    assert text.endswith("\n")
    found = list(text_string_to_metric_families(text))
    assert len({family.name for family in found}) == len(found), "a family comes twice"
    for family in found:
        assert family.documentation, family.name
        assert family.type in ("counter", "gauge", "histogram"), family.name
        keys = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
        assert len(set(keys)) == len(keys), f"a sample of {family.name} comes twice"
    return {family.name: family for family in found}


def lines(served: Served, start: str) -> list[str]:
    return [line for line in served.get("/metrics").body.decode().splitlines() if line.startswith(start)]


@pytest.mark.parametrize(("name", "kind"), MODEL_METRICS.items())
def test_the_names_that_dashboards_know(name: str, kind: str, served: Served) -> None:
    assert lines(served, f"# TYPE {name} ") == [f"# TYPE {name} {kind}"]
    assert len(lines(served, f"# HELP {name} ")) == 1
    samples = lines(served, name + "{")
    assert any('model="add"' in sample and 'version="1"' in sample for sample in samples)


def test_every_family_is_well_formed(served: Served) -> None:
    found = families(served)
    for family in found.values():
        if family.type != "histogram":
            continue
        sums: dict[Any, dict[str, Any]] = {}
        for sample in family.samples:
            labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
            entry = sums.setdefault(labels, {"buckets": []})
            if sample.name.endswith("_bucket"):
                entry["buckets"].append((float(sample.labels["le"]), sample.value))
            else:
                entry[sample.name.rsplit("_", 1)[1]] = sample.value
        for entry in sums.values():
            bounds, counts = zip(*entry["buckets"], strict=True)
            assert list(bounds) == sorted(bounds)
            assert bounds[-1] == float("inf")
            assert list(counts) == sorted(counts)
            assert counts[-1] == entry["count"]


def test_the_process(served: Served) -> None:
    assert served.metric("process_open_fds") >= served.descriptors() - 2
    assert served.metric("process_threads") == served.threads()
    assert abs(served.metric("process_resident_memory_bytes") - served.resident()) < 32 << 20
    assert served.metric("process_cpu_seconds_total") > 0
    assert served.metric("asio_infer_connections_open") == 1
    (build,) = lines(served, "asio_infer_build_info")
    assert build.endswith("} 1")


def test_hostile_names_of_models_are_escaped(start_server: StartServer) -> None:
    names = ['a"b', "é ü", "x{y}", "n=1,m", "😀", "'"]
    server = start_server(*({"name": name, "identity": {"shape": [-1, -1]}} for name in names))
    found = families(server)
    assert {sample.labels["model"] for sample in found["nv_inference_count"].samples} == set(names)
    stats = server.get("/v2/models/stats").json()["model_stats"]
    assert sorted(entry["name"] for entry in stats) == sorted(names)
    assert all(name in server.get("/").body.decode() for name in names if name.isprintable())


def test_unknown_names_make_no_series(served: Served) -> None:
    before = len(lines(served, ""))
    for i in range(50):
        served.get(f"/v2/models/random{i}/ready")
        served.ask(wire.infer(f"random{i}", [X]))
        served.get(f"/random{i}")
        served.ask(wire.infer("add", [X], version=1000 + i))
        served.ask(wire.request(f"METHOD{i}", "/v2"))
    assert len(lines(served, "")) == before


def counts(server: Served, model: str) -> dict[str, float]:
    """The counters of a model, by metric and statistics, which must agree."""
    (stats,) = server.get(f"/v2/models/{model}/stats").json()["model_stats"]
    found = {
        "success": server.metric("nv_inference_request_success", model=model),
        "failure": server.metric("nv_inference_request_failure", model=model),
        "rows": server.metric("nv_inference_count", model=model),
        "runs": server.metric("nv_inference_exec_count", model=model),
    }
    sums = stats["inference_stats"]
    assert found["success"] == sums["success"]["count"] == sums["queue"]["count"] == sums["compute_infer"]["count"]
    assert found["failure"] == sums["fail"]["count"]
    assert found["rows"] == stats["inference_count"]
    assert found["runs"] == stats["execution_count"]
    assert found["success"] == server.metric("asio_infer_request_seconds_count", model=model)
    assert server.metric("nv_inference_pending_request_count", model=model) == 0
    assert server.metric("asio_infer_requests_running", model=model) == 0
    for sample in families(server)["nv_inference_request_failure"].samples:
        if sample.labels["model"] == model:
            found[sample.labels["reason"]] = sample.value
    assert found["failure"] == sum(found[r] for r in ("REJECTED", "CANCELED", "BACKEND", "OTHER"))
    return found


def growth(server: Served, model: str, *requests: tuple[bytes, int]) -> dict[str, float]:
    """What these requests, which must have these statuses, add to the counters; zeros left out."""
    before = counts(server, model)
    for data, status in requests:
        assert server.ask(data).status == status
    after = counts(server, model)
    return {key: after[key] - before[key] for key in after if after[key] != before[key]}


def test_successes(served: Served) -> None:
    three = wire.tensor("INPUT0", [[1.5]] * 3)
    grown = growth(served, "echo", *[(wire.infer("echo", [X]), 200)] * 5, *[(wire.infer("echo", [three]), 200)] * 2)
    assert grown == {"success": 7, "rows": 11, "runs": 7}


def test_failures_of_the_caller(served: Served) -> None:
    bad = [
        wire.infer_text("echo", "{"),
        wire.infer_text("echo", ""),
        wire.infer("echo", []),
        wire.infer("echo", [X], outputs=[{"name": "nope"}]),
        wire.infer("echo", [X], parameters={"timeout": -1}),
        wire.infer("echo", [wire.tensor("INPUT0", [[1]], "INT32")]),
    ]
    grown = growth(served, "echo", *[(data, 400) for data in bad])
    assert grown == {"failure": len(bad), "OTHER": len(bad)}


def test_failures_of_the_model(served: Served) -> None:
    bad, good = (wire.tensor("IDX", [i], "INT64") for i in (77, 1))
    grown = growth(served, "gather", (wire.infer("gather", [bad]), 500), (wire.infer("gather", [good]), 200))
    assert grown["success"] == grown["rows"] == 1
    assert grown["failure"] == grown["BACKEND"] == 1


def test_requests_that_are_refused_or_late(start_server: StartServer) -> None:
    slow = {"name": "slow", "identity": {"shape": [-1, -1], "delay_s": 0.5}, "queue": {"max_size": 2}, "batching": None}
    server = start_server(slow)
    data = wire.infer("slow", [X])
    before = counts(server, "slow")
    connections = [server.connect() for _ in range(8)]
    connections[0].send(data)
    wire.wait_for(lambda: server.metric("asio_infer_requests_running") == 1, "the first runs")
    connections[1].send(wire.infer("slow", [X], parameters={"timeout": 1}))
    late = connections[1].answer()
    assert late.status == 504
    late.error()
    for connection in connections[2:]:
        connection.send(data)
    answers = [connection.answer() for connection in (connections[0], *connections[2:])]
    assert sorted(answer.status for answer in answers) == [200] * 3 + [429] * 4
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers if answer.status == 429)
    for connection in connections:
        connection.socket.close()
    after = counts(server, "slow")
    assert after["success"] - before["success"] == 3
    assert after["REJECTED"] - before["REJECTED"] == 5
    assert after["failure"] - before["failure"] == 5


def test_requests_that_find_no_model_are_counted_too(served: Served) -> None:
    def refused(reason: str) -> float:
        return served.metric("asio_infer_http_refused_total", reason=reason)

    for data, status, reason in (
        (wire.request("GET", "/nothing"), 404, "not_found"),
        (wire.infer("nothing", [X]), 404, "not_found"),
        (wire.request("DELETE", "/v2"), 405, "method_not_allowed"),
        (wire.request("GET", "/%zz"), 400, "invalid_request"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "invalid_request"),
        (wire.request("POST", "/v2", headers=[("Content-Length", "9" * 10)]), 413, "too_large"),
        (wire.request("POST", "/v2", headers=[("Expect", "x")]), 417, "expectation_failed"),
        (wire.request("POST", "/v2", headers=[("Transfer-Encoding", "gzip")]), 501, "not_implemented"),
        (wire.request("GET", "/", headers=[("X", "x" * 40_000)]), 431, "header_too_large"),
    ):
        before, requests = refused(reason), served.metric("asio_infer_http_requests_total")
        assert served.ask(data).status == status
        assert refused(reason) == before + 1
        assert served.metric("asio_infer_http_requests_total") == requests + 3  # with two looks at the metrics


def test_responses_by_class(served: Served) -> None:
    def responses(kind: str) -> float:
        return served.metric("asio_infer_http_responses_total", **{"class": kind})

    good, bad = responses("2xx"), responses("4xx")
    assert served.get("/v2").status == 200
    assert served.get("/nothing").status == 404
    assert responses("4xx") == bad + 1
    assert responses("2xx") == good + 4  # the one above, and looks at the metrics


# ---- Statistics, metadata, configuration


def test_statistics_of_one_and_of_all(served: Served, common_models: list[Model]) -> None:
    everything = served.get("/v2/models/stats").json()["model_stats"]
    expected = sorted((model["name"], str(model.get("version", 1))) for model in common_models)
    assert sorted((entry["name"], entry["version"]) for entry in everything) == expected
    both = served.get("/v2/models/two/stats").json()["model_stats"]
    assert sorted(entry["version"] for entry in both) == ["1", "2"]
    (one,) = served.get("/v2/models/two/versions/1/stats").json()["model_stats"]
    assert (one["name"], one["version"]) == ("two", "1")


def test_statistics_by_batch_size(start_server: StartServer) -> None:
    server = start_server({"name": "echo", "identity": {"shape": [-1, -1]}})
    for rows in (1, 1, 3):
        assert server.infer("echo", [wire.tensor("INPUT0", [[1.5]] * rows)]).status == 200
    (stats,) = server.get("/v2/models/echo/stats").json()["model_stats"]
    assert {entry["batch_size"]: entry["compute_infer"]["count"] for entry in stats["batch_stats"]} == {1: 2, 3: 1}
    assert stats["inference_count"] == 5
    assert stats["execution_count"] == 3
    assert stats["last_inference"] > 1_700_000_000_000
    for sums in stats["inference_stats"].values():
        assert set(sums) == {"count", "ns"}


def test_server_metadata(served: Served) -> None:
    import asio_infer

    metadata = served.get("/v2").json()
    assert metadata["name"] == "asio_infer"
    assert metadata["version"] == asio_infer.__version__
    assert {"binary_tensor_data", "classification", "model_configuration", "statistics"} <= set(metadata["extensions"])
    assert not {"sequence", "trace", "logging", "system_shared_memory"} & set(metadata["extensions"])


def test_model_metadata(served: Served) -> None:
    metadata = served.get("/v2/models/add").json()
    assert metadata == {
        "name": "add",
        "versions": ["1"],
        "platform": "onnxruntime_onnx",
        "inputs": [
            {"name": "A", "datatype": "FP32", "shape": [-1, 4]},
            {"name": "B", "datatype": "FP32", "shape": [-1, 4]},
        ],
        "outputs": [{"name": "Y", "datatype": "FP32", "shape": [-1, 4]}],
    }
    assert served.get("/v2/models/two").json()["versions"] == ["1", "2"]
    assert [o["name"] for o in served.get("/v2/models/two/versions/1").json()["outputs"]] == ["Y", "Z"]
    assert [o["name"] for o in served.get("/v2/models/two").json()["outputs"]] == ["X", "Y"]


def test_configurations(served: Served) -> None:
    batched = served.get("/v2/models/add/config").json()
    assert batched["name"] == "add"
    assert batched["max_batch_size"] == 32
    assert [(t["name"], t["data_type"], t["dims"]) for t in batched["input"]] == [
        ("A", "TYPE_FP32", [4]),
        ("B", "TYPE_FP32", [4]),
    ]
    assert batched["output"][0]["dims"] == [4]
    assert batched["instance_group"][0]["count"] == 1
    alone = served.get("/v2/models/fix1/config").json()
    assert alone["max_batch_size"] == 0
    assert alone["input"][0]["dims"] == [1, 4]
    assert served.get("/v2/models/str/config").json()["input"][0]["data_type"] == "TYPE_STRING"
    for datatype in ("bool", "uint8", "int64", "fp16", "fp64", "bf16"):
        (entry,) = served.get(f"/v2/models/id_{datatype}/config").json()["input"]
        assert entry["data_type"] == f"TYPE_{datatype.upper()}"


def test_every_description_is_strict_json(served: Served, common_models: list[Model]) -> None:
    from urllib.parse import quote

    for model in common_models:
        base = f"/v2/models/{quote(model['name'], safe='')}"
        assert served.get(base).json()["name"] == model["name"]
        for rest in ("/config", "/stats", "/ready"):
            assert served.get(base + rest).json()


def test_what_is_served(served: Served) -> None:
    answer = served.get("/")
    assert answer.headers["content-type"].startswith("text/plain")
    text = answer.body.decode()
    assert "add" in text
    assert "/v2" in text
