"""Fixtures that the Python tests share."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import asio_infer as ai
from processes import Process

ROOT = Path(__file__).parents[2]
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in the background of a shell; children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

Done = subprocess.CompletedProcess[str]
RunScript = Callable[..., Done]
SERVED = ("add", "any_rank", "cnn", "gather", "kopt", "loop", "nz", "pass", "reveal", "scalar", "str", "sumall", "tiny")


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of the ONNX models that tests/models/make_models.py writes."""
    folder = ROOT / "build" / "test-models"
    subprocess.run([sys.executable, ROOT / "tests" / "models" / "make_models.py", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[ai.Server]:
    """A running server with several models of tests/models/graphs.py under their names, and `echo`, an identity."""
    with ai.Server(port=0, log=ai.Log(level="error")) as server:
        for name in SERVED:
            server.register(name, models / f"{name}.onnx")
        for model in sorted(models.glob("id_*.onnx")):
            server.register(model.stem, model)
        server.register("echo", ai.Identity(shape=(-1, 4)))
        yield server


@pytest.fixture
def idle_server() -> Iterator[ai.Server]:
    """A server on a free port that was not started and has no models."""
    server = ai.Server(port=0, log=ai.Log(level="error"))
    yield server
    server.stop(0)


@pytest.fixture
def run_script(tmp_path: Path) -> RunScript:
    """Runs Python text in a process of its own, in an empty folder, and returns it when it has ended."""

    def run(
        text: str, *arguments: object, timeout_s: float = 60, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(text), *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )

    return run


@pytest.fixture
def start() -> Iterator[Callable[..., Process]]:
    """Starts a Python script text, or with `command=True` a command, as a `Process`."""
    started: list[Process] = []

    def start_one(text: str, *arguments: object, **environment: str) -> Process:
        process = Process(sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(text), *arguments, **environment)
        started.append(process)
        return process

    yield start_one
    for process in started:
        process.__exit__()
