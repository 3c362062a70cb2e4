"""Every block of the README is run, in order, in one folder, and does what it says it does.

Python blocks run as scripts and must print the comments behind their `print(...)`. In console blocks each `$ ` line is
run and must print the lines that follow. A block that serves runs until the next one that does.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
PORT = "8000"  # in the README


class Block(NamedTuple):
    kind: str
    text: str


BLOCKS = [Block(*found) for found in re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)]


class Folder:
    """Where the reader works, with at most one server running."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = str(probe.getsockname()[1])
        self.server: subprocess.Popen[str] | None = None
        self.environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}

    def translate(self, text: str) -> str:
        return text.replace(PORT, self.port)

    def run(self, *command: str) -> str:
        done = subprocess.run(command, cwd=self.path, env=self.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def serve(self, *command: str) -> None:
        """Starts a server and waits until it is ready."""
        self.stop()
        self.server = subprocess.Popen(
            command, cwd=self.path, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        url = f"http://127.0.0.1:{self.port}/v2/health/ready"
        end = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                return
            except OSError:
                if self.server.poll() is not None or time.monotonic() > end:
                    pytest.fail(f"{command} did not start: {self.server.communicate()[1]}")
                time.sleep(0.02)

    def stop(self) -> tuple[int, str]:
        """Ends the server as its user would: exit status and what it printed."""
        if self.server is None:
            return 0, ""
        self.server.send_signal(signal.SIGTERM)
        out, _ = self.server.communicate(timeout=30)
        status, self.server = self.server.returncode, None
        return status, out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    folder = Folder(tmp_path_factory.mktemp("readme"))
    yield folder
    if folder.server is not None:
        folder.server.kill()
        folder.server.communicate()


def run_python(text: str, folder: Folder) -> None:
    script = folder.path / "block.py"
    script.write_text(folder.translate(text))
    if "server.wait()" in text:
        folder.serve(sys.executable, str(script))
        return
    expected = re.findall(r"print\(.*\)  # (.*)$", text, re.MULTILINE)
    assert folder.run(sys.executable, str(script)).splitlines() == expected


def run_console(text: str, folder: Folder) -> None:
    for entry in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        # Quotes that are open at the end of a line go on in the next.
        lines = entry.splitlines(keepends=True)
        size = next(n for n in range(1, len(lines) + 1) if "".join(lines[:n]).count("'") % 2 == 0)
        command, output = folder.translate("".join(lines[:size])).strip(), folder.translate("".join(lines[size:]))
        if command.startswith("asio-infer serve"):
            folder.serve("bash", "-c", f"exec {command} --port {folder.port}")
            assert folder.stop() == (0, output)
            folder.serve("bash", "-c", f"exec {command} --port {folder.port}")
        else:
            command = command.replace("curl ", "curl --silent --show-error --fail-with-body ")
            assert folder.run("bash", "-c", command).strip() == output.strip()


def run_toml(text: str, folder: Folder) -> None:
    (folder.path / "server.toml").write_text(folder.translate(text))
    assert "asio-infer serve --config server.toml" in README
    folder.serve("asio-infer", "serve", "--config", "server.toml")
    for model in tomllib.loads(text)["model"]:
        name = Path(model["path"]).stem
        with urllib.request.urlopen(f"http://127.0.0.1:{folder.port}/v2/models/{name}/ready", timeout=5) as answer:
            assert answer.status == 200


RUN = {"python": run_python, "console": run_console, "toml": run_toml}


def test_there_are_blocks_of_each_kind() -> None:
    assert {block.kind for block in BLOCKS} == set(RUN)
    assert README.count("```") == 2 * len(BLOCKS)


def test_every_block_does_what_it_says(folder: Folder) -> None:
    for block in BLOCKS:
        RUN[block.kind](block.text, folder)
    assert folder.stop()[0] == 0


def test_every_path_of_the_table_is_served(folder: Folder) -> None:
    folder.serve("asio-infer", "serve", "add.onnx", "--port", folder.port)
    table = README.split("|---|---|\n", 1)[1].split("\n\n", 1)[0]
    paths = [path.replace("/M", "/add") for path in re.findall(r"`(?:GET )?(/[^ `]*)`", table) if "..." not in path]
    assert len(paths) >= 10
    for path in paths:
        with urllib.request.urlopen(f"http://127.0.0.1:{folder.port}{path}", timeout=5) as answer:
            assert answer.status == 200, path
        if "/models/add" in path:
            versioned = path.replace("/models/add", "/models/add/versions/1")
            with urllib.request.urlopen(f"http://127.0.0.1:{folder.port}{versioned}", timeout=5) as answer:
                assert answer.status == 200, versioned
    assert folder.stop()[0] == 0


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in (README, (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")):
        for target in re.findall(r"(?:`|^)(?:PRESET=dev )?make ([a-z-]+)", page, re.MULTILINE):
            assert re.search(rf"^[a-z -]*\b{target}\b[a-z -]*:", makefile, re.MULTILINE), target
