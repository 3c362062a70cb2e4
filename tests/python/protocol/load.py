"""The load generator as a process beside a server, and a place for the figures."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from servers import Served

ROOT = Path(__file__).parents[3]
SCALE = float(os.environ.get("ASIO_INFER_STRESS_SCALE", "1"))
"""Times and counts are multiplied by this: below 1 on a slow machine or for a quick look."""

Figures = dict[str, Any]


def program() -> Path:
    """The generator that was built last with the tests."""
    return ROOT / "build" / os.environ.get("PRESET", "release") / "tests/cpp/load/asio_infer_load"


def run(
    server: Served,
    requests: Sequence[bytes],
    *,
    expected: bytes | None = None,
    when_idle: Callable[[], None] | None = None,
    **options: float | str,
) -> Figures:
    """One load; `options` are the program's, with underscores. `when_idle` is called with its idle connections open."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(program()), "--port", str(server.address[1])]
        for number, request in enumerate(requests):
            Path(folder, str(number)).write_bytes(request)
            command += ["--request", f"{folder}/{number}"]
        if expected is not None:
            Path(folder, "expected").write_bytes(expected)
            command += ["--expect", f"{folder}/expected"]
        for name, value in options.items():
            command += ["--" + name.replace("_", "-"), str(value)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            if when_idle is not None:
                assert process.stdout.readline() == "idle\n"
                when_idle()
            out, _ = process.communicate("\n")
        assert process.returncode == 0
        figures: Figures = json.loads(out)
        return figures


def check_nothing_lost(figures: Figures) -> None:
    """Every request was sent and got one whole answer, with the right content and headers."""
    for name in ("unsent", "wrong", "without_retry_after", "broken", "unanswered", "idle_failed", "probes_failed"):
        assert figures[name] == 0, (name, figures)
    assert figures["sent"] == sum(figures["answered"].values())


def record(name: str, **figures: Any) -> None:
    """Show the figures of one test, and keep them in build/stress.json."""
    print(f"\n{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()))
    path = ROOT / "build/stress.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | {name: {"scale": SCALE, **figures}}, indent=2) + "\n")
