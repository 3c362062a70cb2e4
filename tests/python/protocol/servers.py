"""Servers in processes of their own: a crash is a finding, not the end of the test run."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
import wire
from wire import GUARD_S, Address, Answer

HERE = Path(__file__).parent
Model = dict[str, Any]

_SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? ([^ ]+)")

ADD = wire.infer("add", [wire.tensor("A", [[1, 2, 3, 4]]), wire.tensor("B", [[10, 20, 30, 40]])])


class Served:
    """A server process, what it costs, and requests to it."""

    def __init__(self, models: list[Model], *, command: tuple[str, ...] = (), **spec: Any) -> None:
        text = json.dumps({"models": models, **spec})
        self._process = subprocess.Popen(
            [*command, sys.executable, "-X", "faulthandler", str(HERE / "serve.py"), text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            pytest.fail(f"the server did not start: {self._process.communicate()[1]}")
        self.address: Address = ("127.0.0.1", int(line))
        self.url = f"http://127.0.0.1:{line}"
        # Workers start when they are needed and stay: one for each instance, and one for each core.
        instances = sum(model.get("instances", 1) for model in models)
        self.most_threads = self.threads() + instances + (os.cpu_count() or 1)

    def __enter__(self) -> "Served":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.pid is not None:
            self.stop()

    @property
    def pid(self) -> int | None:
        """None once it has ended."""
        return self._process.pid if self._process.poll() is None else None

    def stop(self) -> str:
        """End it in order; returns what it wrote to stderr. It must leave with status 0."""
        try:
            _, err = self._process.communicate("", timeout=GUARD_S)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)  # faulthandler says where it hangs
            _, err = self._process.communicate()
        assert self._process.returncode == 0, err
        return err

    # ---- Requests

    def connect(self, **options: Any) -> wire.Connection:
        return wire.Connection(self.address, **options)

    def ask(self, data: bytes) -> Answer:
        return wire.ask(self.address, data)

    def get(self, target: str) -> Answer:
        return self.ask(wire.request("GET", target))

    def infer(self, model: str, inputs: Any, section: bytes | None = None, **options: Any) -> Answer:
        return self.ask(wire.infer(model, inputs, section, **options))

    def canary(self) -> None:
        """A good request gets its exact answer."""
        assert self.ask(ADD).outputs()["Y"].tolist() == [[11, 22, 33, 44]]

    def executions(self, model: str) -> int:
        """How often the model has run."""
        return sum(entry["execution_count"] for entry in self.get(f"/v2/models/{model}/stats").json()["model_stats"])

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples with these labels."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        found = []
        for line in self.get("/metrics").body.decode().splitlines():
            sample = _SAMPLE.fullmatch(line)
            if sample and sample[1] == name and all(label in (sample[2] or "") for label in wanted):
                found.append(float(sample[3]))
        assert found, f"no sample of {name} with {labels}"
        return sum(found)

    # ---- Cost

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def resident(self) -> int:
        """Bytes of memory."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


StartServer = Callable[..., Served]
