"""A model's name in a request is a key, never a path: whatever it looks like, no file is touched for it."""

import ctypes
import os
import select
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire
from servers import ADD, Served

NAMES = [
    "..",
    ".",
    "%2e%2e",
    "%2E%2e",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e%2fadd",
    "..%5c..%5cwindows",
    "%2fetc%2fpasswd",
    "%5cetc",
    "add%00",
    "add%00.onnx",
    "%00",
    "add%0a",
    "%0aadd",
    "add%0d%0a",
    "add%2f",
    "%2fadd",
    "add%2f..%2fadd",
    "add.onnx",
    "add%20",
    "%20add",
    "add;ls",
    "$(id)",
    "%60id%60",
    "add%7Cid",
    "~",
    "~root",
    "%7eroot",
    "add*",
    "add%3f",
    "%c0%ae%c0%ae",
    "%c0%af",
    "%ff",
    "%u002e",
    "CON",
    "nul",
    "add::$DATA",
    "file:%2f%2f%2fetc%2fpasswd",
    "a" * 300,
    "%2e" * 300,
    "é" * 200,
    "ADD",
    "add.",
    "%252e%252e",
]
REST = [
    "/infer",
    "/ready",
    "",
    "/config",
    "/stats",
    "/versions/1/infer",
    "/versions/..%2f1/infer",
    "/versions/1%00/ready",
]


IN_OPEN = 0x20
IN_NONBLOCK = os.O_NONBLOCK


class Watch:
    """Tells whether anyone has opened a file in these folders since."""

    def __init__(self, *folders: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._events = libc.inotify_init1(IN_NONBLOCK)
        assert self._events >= 0, os.strerror(ctypes.get_errno())
        for folder in folders:
            assert libc.inotify_add_watch(self._events, os.fsencode(folder), IN_OPEN) >= 0

    def opened(self) -> bool:
        if not select.select([self._events], [], [], 0)[0]:
            return False
        return bool(os.read(self._events, 1 << 16))

    def close(self) -> None:
        os.close(self._events)


@pytest.fixture(scope="module")
def decoys(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Path:
    """A folder in which many of the names would be found, if they were paths."""
    folder = tmp_path_factory.mktemp("decoys")
    for name in (
        "add",
        "add.onnx",
        "1",
        "config.pbtxt",
        "~",
        "ADD",
        "nope/1/model.onnx",
        "work/add.onnx",
        "work/add/1/model.onnx",
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() and not (name == "add" and path.is_dir()):
            shutil.copyfile(models / "add.onnx", path)
    return folder


@pytest.fixture(scope="module")
def server(decoys: Path) -> Iterator[Served]:
    with Served(
        [{"name": "add", "model": str(decoys / "add.onnx")}], command=("env", f"--chdir={decoys / 'work'}")
    ) as server:
        server.ask(ADD)
        yield server
        assert server.stop() == ""


@pytest.fixture
def watch(decoys: Path, server: Served) -> Iterator[Watch]:
    watch = Watch(decoys, *(path for path in decoys.rglob("*") if path.is_dir()))
    (decoys / "1").read_bytes()
    assert watch.opened(), "it sees what is opened"
    yield watch
    watch.close()


def encoded(name: str) -> str:
    return "".join(c if c.isascii() else "".join(f"%{byte:02x}" for byte in c.encode()) for c in name)


@pytest.mark.parametrize("rest", REST)
def test_a_name_that_looks_like_a_path_is_a_name(rest: str, server: Served, watch: Watch) -> None:
    descriptors = server.descriptors()
    body = ADD.split(b"\r\n\r\n", 1)[1]
    for name in NAMES:
        method = "POST" if rest.endswith("infer") else "GET"
        data = wire.request(method, f"/v2/models/{encoded(name)}{rest}", body if method == "POST" else b"")
        answer = server.ask(data)
        assert answer.status in (400, 404), (name, answer.status)
        assert len(answer.error()) < 1500
    assert not watch.opened()
    assert server.descriptors() <= descriptors + 1
    server.canary()


def test_names_in_bodies_are_names(server: Served, watch: Watch) -> None:
    for name in ("../add", "/etc/passwd", "add.onnx", "..\\add", "\0", "add\0", "a" * 300, "\n", "%2e%2e"):
        for inputs, outputs in (([wire.tensor(name, [[1]])], None), ([], [{"name": name}])):
            assert server.infer("add", inputs, outputs=outputs).status == 400
        echoed = wire.infer_text("add", ADD.split(b"\r\n\r\n", 1)[1].replace(b'{"inputs"', b'{"id":"../x","inputs"', 1))
        assert server.ask(echoed).json()["id"] == "../x"
    assert not watch.opened()


@pytest.mark.parametrize("parameters", [{"model_path": "/etc/passwd"}, {"file": "../add.onnx"}, {"trace_file": "x"}])
def test_no_parameter_names_a_file(parameters: dict[str, str], server: Served, watch: Watch) -> None:
    data = ADD.split(b"\r\n\r\n", 1)[1].replace(
        b'{"inputs"', b'{"parameters":%s,"inputs"' % repr(parameters).replace("'", '"').encode(), 1
    )
    assert server.ask(wire.infer_text("add", data)).status in (200, 400)
    assert not watch.opened()


@pytest.mark.parametrize(
    "target",
    [
        "/v2/repository/index",
        "/v2/repository/models/add/load",
        "/v2/trace/setting",
        "/v2/logging",
        "/v2/models/add/trace/setting",
    ],
)
def test_nothing_that_sets_a_path_is_served(target: str, server: Served, watch: Watch) -> None:
    settings = b'{"trace_file":"/tmp/x","log_file":"/tmp/x","parameters":{"file:1/model.onnx":"AA=="}}'
    assert server.ask(wire.request("POST", target, settings)).status in (403, 404, 405)
    assert not watch.opened()
