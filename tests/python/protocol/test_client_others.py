"""Everyday clients: requests, curl, Python's own http.client and urllib."""

import http.client
import json
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import requests
from servers import Served

BODY: dict[str, Any] = {
    "inputs": [
        {"name": "A", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]},
        {"name": "B", "shape": [1, 4], "datatype": "FP32", "data": [[10, 20, 30, 40]]},
    ]
}
SUM = [11, 22, 33, 44]


def test_requests(served: Served) -> None:
    with requests.Session() as session:
        for _ in range(20):
            answer = session.post(f"{served.url}/v2/models/add/infer", json=BODY, timeout=30)
            assert answer.json()["outputs"][0]["data"] == SUM
        assert session.get(f"{served.url}/v2/models/a b", timeout=30).json()["name"] == "a b"
        assert session.get(f"{served.url}/v2/models/äöü/ready", timeout=30).json()["ready"] is True
        assert session.head(f"{served.url}/v2", timeout=30).status_code == 200
        answer = session.options(f"{served.url}/v2/models/add/infer", timeout=30)
        assert "POST" in answer.headers["Allow"]
        large = {"inputs": [{"name": "X", "shape": [1, 9000], "datatype": "FP32", "data": [0.5] * 9000}]}
        answer = session.post(f"{served.url}/v2/models/id_fp32/infer", json=large, timeout=30)
        assert answer.headers["Content-Encoding"] == "gzip"  # it asks for it by itself
        assert answer.json()["outputs"][0]["data"] == [0.5] * 9000


def test_requests_with_a_chunked_body(served: Served) -> None:
    text = json.dumps(BODY).encode()
    pieces = (text[i : i + 10] for i in range(0, len(text), 10))
    answer = requests.post(f"{served.url}/v2/models/add/infer", data=pieces, timeout=30)
    assert answer.json()["outputs"][0]["data"] == SUM


def test_requests_with_an_error(served: Served) -> None:
    answer = requests.post(f"{served.url}/v2/models/add/infer", data=b"{", timeout=30)
    assert answer.status_code == 400
    assert answer.reason == "Bad Request"
    assert isinstance(answer.json()["error"], str)


def test_python_s_http_client(served: Served) -> None:
    connection = http.client.HTTPConnection(*served.address, timeout=30)
    try:
        for _ in range(3):
            connection.request("POST", "/v2/models/add/infer", json.dumps(BODY))
            answer = connection.getresponse()
            assert json.loads(answer.read())["outputs"][0]["data"] == SUM
            connection.request("HEAD", "/metrics")
            answer = connection.getresponse()
            assert answer.status == 200
            assert answer.read() == b""
            connection.request("OPTIONS", "/v2")
            answer = connection.getresponse()
            assert answer.status == 204
            answer.read()
    finally:
        connection.close()


def curl(tmp_path: Path, *arguments: str) -> str:
    command = ["curl", "-sS", "--max-time", "30", *arguments]
    return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout


def test_curl_with_json(served: Served, tmp_path: Path) -> None:
    url = f"{served.url}/v2/models/add/infer"
    for options in ([], ["-H", "Content-Type: application/json"], ["--http1.0"], ["-H", "Transfer-Encoding: chunked"]):
        answer = json.loads(curl(tmp_path, "-d", json.dumps(BODY), *options, url))
        assert answer["outputs"][0]["data"] == SUM
    assert json.loads(curl(tmp_path, "--compressed", "-d", json.dumps(BODY), url))["outputs"][0]["data"] == SUM


def test_curl_asks_for_http_2(served: Served, tmp_path: Path) -> None:
    """An offer to upgrade may be left unanswered."""
    answer = curl(tmp_path, "--http2", "-d", json.dumps(BODY), f"{served.url}/v2/models/add/infer")
    assert json.loads(answer)["outputs"][0]["data"] == SUM


def test_curl_reads_what_is_there(served: Served, tmp_path: Path) -> None:
    assert json.loads(curl(tmp_path, f"{served.url}/v2/health/ready"))["ready"] is True
    assert "nv_inference_count" in curl(tmp_path, f"{served.url}/metrics")
    assert "HTTP/1.1 200 OK" in curl(tmp_path, "-I", f"{served.url}/v2")
    both = curl(tmp_path, f"{served.url}/v2/health/live", f"{served.url}/v2/health/ready", "-w", "%{num_connects}\n")
    assert both.splitlines()[0].endswith("1")
    assert both.splitlines()[1].endswith("0"), "the connection is used again"


def test_curl_with_a_large_binary_body(served: Served, tmp_path: Path) -> None:
    """Over a mebibyte curl asks before it sends."""
    x = np.random.default_rng(0).standard_normal((1, 1 << 20)).astype("<f4")
    parameters = {"binary_data_size": x.nbytes}
    text = json.dumps(
        {
            "parameters": {"binary_data_output": True},
            "inputs": [{"name": "X", "shape": list(x.shape), "datatype": "FP32", "parameters": parameters}],
        }
    ).encode()
    (tmp_path / "in").write_bytes(text + x.tobytes())
    options = ["--data-binary", "@in", "-H", f"Inference-Header-Content-Length: {len(text)}", "-o", "out", "-D", "head"]
    seconds = curl(tmp_path, *options, "-w", "%{time_total}", f"{served.url}/v2/models/id_fp32/infer")
    assert float(seconds) < 0.9, "it waited for a 100 Continue that did not come"
    assert (tmp_path / "out").read_bytes().endswith(x.tobytes())
    assert "HTTP/1.1 200 OK" in (tmp_path / "head").read_text()


def test_curl_with_a_body_over_the_limit(served: Served, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"\0" * (65 << 20))
    for options in ([], ["-H", "Expect:"], ["-H", "Transfer-Encoding: chunked"], ["--http1.0"]):
        url = f"{served.url}/v2/models/id_fp32/infer"
        status = curl(tmp_path, "--data-binary", "@in", "-o", "out", "-w", "%{http_code}", *options, url)
        assert status == "413"
        assert "error" in json.loads((tmp_path / "out").read_text())


def test_many_sessions_at_once(served: Served) -> None:
    failures: list[BaseException] = []

    def client(number: int) -> None:
        try:
            with requests.Session() as session:
                for i in range(10):
                    x = [number, i, 0.5, -1]
                    tensors = [{"name": n, "shape": [1, 4], "datatype": "FP32", "data": x} for n in ("A", "B")]
                    answer = session.post(f"{served.url}/v2/models/add/infer", json={"inputs": tensors}, timeout=30)
                    assert answer.json()["outputs"][0]["data"] == [2 * value for value in x]
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=client, args=[n]) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
