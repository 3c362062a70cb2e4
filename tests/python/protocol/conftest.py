"""The servers that the protocol tests talk to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wire
from queues import wait_nothing_held
from servers import Model, Served, StartServer

REFUSED = ("narrow_int4", "narrow_uint4", "opt", "seq", "zip")
"""Test models with nothing but tensors that the protocol cannot carry, for inputs or for outputs."""


@pytest.fixture(scope="session")
def common_models(models: Path) -> list[Model]:
    """What the common server serves: the test models under their names, and some that stand for a trait."""
    paths = [path for path in sorted(models.glob("*.onnx")) if path.stem not in REFUSED]
    found: list[Model] = [{"name": path.stem, "model": str(path)} for path in paths]
    for entry in found:
        if entry["name"] == "reveal":  # a probe would find that its answers tell how rows are joined
            entry["batching"] = {"max_size": 64}
    found += [
        {"name": "a b", "model": str(models / "pass.onnx")},
        {"name": "%61dd", "model": str(models / "tiny.onnx")},
        {"name": "äöü", "model": str(models / "pass.onnx")},
        {"name": "two", "model": str(models / "two_outputs.onnx"), "version": 1},
        {"name": "two", "model": str(models / "pass_beside.onnx"), "version": 2},
        {"name": "echo", "identity": {"shape": [-1, -1]}},
    ]
    return found


@pytest.fixture(scope="session")
def common_server(common_models: list[Model]) -> Iterator[Served]:
    with Served(common_models) as server:
        server.canary()
        yield server
        assert server.stop() == ""


@pytest.fixture
def served(common_server: Served) -> Iterator[Served]:
    """The common server. After each test the same process still gives exact answers, and it holds on to nothing."""
    server = common_server
    pid, descriptors = server.pid, server.descriptors()
    yield server
    assert server.pid is not None, "the server has died"
    server.canary()
    assert server.pid == pid
    wire.wait_for(lambda: server.descriptors() <= descriptors, "descriptors are closed", 10)
    assert server.threads() <= server.most_threads


@pytest.fixture(scope="module")
def start_server() -> Iterator[StartServer]:
    """Starts servers that live until the module's tests are done."""
    started: list[Served] = []

    def start(*models: Model, **spec: Any) -> Served:
        server = Served(list(models), **spec)
        started.append(server)
        return server

    yield start
    for server in started:
        server.__exit__(None, None, None)


@pytest.fixture
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test the module's `server` holds on to nothing, and still gives exact answers."""
    server: Served = request.getfixturevalue("server")
    yield
    wait_nothing_held(server)
    server.canary()
