"""Models that take their time, and what of their work runs or waits."""

from typing import Any

import wire
from servers import Model, Served

VALUE = [[1.5]]
FOREVER_S = 60.0
"""A run of this length ends in a test only because it is stopped."""


def slow(name: str, delay_s: float, **options: Any) -> Model:
    """A model that takes `delay_s` for each run and, unless `batching` says so, one request at a time."""
    return {"name": name, "identity": {"shape": [-1, -1], "delay_s": delay_s}, "batching": None, **options}


def ask_of(model: str, value: float = VALUE[0][0], **options: Any) -> bytes:
    """A request of one row to such a model."""
    return wire.infer(model, [wire.tensor("INPUT0", [[value]])], **options)


def row_of(answer: wire.Answer) -> float:
    """The row that came back."""
    return float(answer.outputs()["OUTPUT0"].item())


def running(server: Served, model: str) -> int:
    """Requests in a run of the model."""
    return int(server.metric("asio_infer_requests_running", model=model))


def waiting(server: Served, model: str) -> int:
    """Requests in the model's queue."""
    return int(server.metric("nv_inference_pending_request_count", model=model))


def wait_running(server: Served, model: str, count: int) -> None:
    wire.wait_for(lambda: running(server, model) == count, f"{count} requests to {model} run", 10)


def wait_waiting(server: Served, model: str, count: int) -> None:
    wire.wait_for(lambda: waiting(server, model) == count, f"{count} requests to {model} wait", 10)


def wait_nothing_held(server: Served) -> None:
    """No request is left in the server, nor a byte of one or of an answer."""
    wire.wait_for(lambda: server.metric("asio_infer_requests_running") == 0, "nothing runs", 10)
    assert server.metric("nv_inference_pending_request_count") == 0
    wire.wait_for(lambda: server.metric("asio_infer_inflight_bytes") < 4096, "memory is given back", 10)
    wire.wait_for(lambda: server.metric("asio_infer_connections_open") == 1, "connections are closed", 10)
