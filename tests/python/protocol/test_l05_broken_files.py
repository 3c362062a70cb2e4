"""A file that is damaged, enormous or no file at all is an error of its own registration and harms nothing else."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wire

import asio_infer as ai

REFUSAL = (ai.InvalidRequest, ai.ModelError)
"""The first for what this package refuses, the second for what the runtime does."""


@pytest.fixture
def server(models: Path) -> Iterator[ai.Server]:
    """A server with one good model that is asked again afterwards, over HTTP too."""
    with ai.Server(port=0, log=ai.Log(level="off")) as server:
        server.register("add", models / "add.onnx")
        yield server
        assert [model.name for model in server.models()] == ["add"]
        address = ("127.0.0.1", server.port)
        inputs = [wire.tensor("A", [[1, 2, 3, 4]]), wire.tensor("B", [[10, 20, 30, 40]])]
        assert wire.ask(address, wire.infer("add", inputs)).outputs()["Y"].tolist() == [[11, 22, 33, 44]]
        assert wire.ask(address, wire.request("GET", "/v2/models/bad/ready")).status == 404


def refuses(server: ai.Server, model: Any, *words: str) -> None:
    """Three times alike: the second load of a broken model must not pass for known."""
    for _ in range(3):
        with pytest.raises(REFUSAL) as caught:
            server.register("bad", model)
        for word in words:
            assert word in str(caught.value), str(caught.value)
        assert len(str(caught.value)) < 5000


def good(models: Path) -> bytes:
    return (models / "cnn.onnx").read_bytes()


DAMAGED = {
    "0 bytes": lambda data: b"",
    "1 byte": lambda data: data[:1],
    "10 bytes": lambda data: data[:10],
    "half": lambda data: data[: len(data) // 2],
    "all but one byte": lambda data: data[:-1],
    "text": lambda data: b"This is no model.\n" * 100,
    "json": lambda data: b'{"inputs": []}',
    "zip": lambda data: b"PK\x03\x04" + b"\0" * 1000,
    "zeros": lambda data: b"\0" * 100_000,
    "ones": lambda data: b"\xff" * 100_000,
    "a pointer to large files": lambda data: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
    "a length that lies": lambda data: b"\x3a\xff\xff\xff\xff\x0f" + data,
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_file(what: str, server: ai.Server, models: Path, tmp_path: Path) -> None:
    data = DAMAGED[what](good(models))
    (tmp_path / "broken.onnx").write_bytes(data)
    refuses(server, tmp_path / "broken.onnx", "broken.onnx")
    refuses(server, data)


def test_files_cut_anywhere(server: ai.Server, models: Path) -> None:
    data = (models / "add.onnx").read_bytes()
    for size in range(0, len(data), 3):
        try:
            server.register("bad", data[:size])
        except REFUSAL:
            continue
        server.unregister("bad")  # where a cut between two fields leaves a model


def test_files_with_any_byte_changed(server: ai.Server, models: Path) -> None:
    """Each loads or is refused; the process lives."""
    data = (models / "add.onnx").read_bytes()
    rng = np.random.default_rng(1)
    for at in range(0, len(data), 2):
        changed = bytearray(data)
        changed[at] = int(rng.integers(0, 256))
        try:
            server.register("bad", bytes(changed))
        except REFUSAL:
            continue
        server.unregister("bad")


@pytest.mark.soak
def test_files_with_any_byte_changed_for_long(server: ai.Server, models: Path) -> None:
    rng = np.random.default_rng(2)
    for name in ("add", "cnn", "loop", "kopt", "two_outputs", "str"):
        data = (models / f"{name}.onnx").read_bytes()
        for _ in range(500):
            changed = bytearray(data)
            for at in rng.integers(0, min(len(data), 2000), 3):
                changed[at] = int(rng.integers(0, 256))
            try:
                server.register("bad", bytes(changed), warmup=False)
            except REFUSAL:
                continue
            server.unregister("bad")


def test_no_file(server: ai.Server, tmp_path: Path) -> None:
    refuses(server, tmp_path / "nothing.onnx", "nothing.onnx")
    refuses(server, tmp_path / "no" / "folder" / "x.onnx", "x.onnx")
    refuses(server, str(tmp_path / ("x" * 300)), "x")


def test_a_folder(server: ai.Server, tmp_path: Path) -> None:
    (tmp_path / "folder.onnx").mkdir()
    refuses(server, tmp_path / "folder.onnx", "folder.onnx")


def test_a_link_to_nothing_and_a_loop_of_links(server: ai.Server, tmp_path: Path) -> None:
    (tmp_path / "a.onnx").symlink_to(tmp_path / "gone")
    refuses(server, tmp_path / "a.onnx", "a.onnx")
    (tmp_path / "b.onnx").symlink_to(tmp_path / "b.onnx")
    refuses(server, tmp_path / "b.onnx", "b.onnx")


def test_a_fifo_and_a_device_do_not_hang(server: ai.Server, tmp_path: Path) -> None:
    """Opening a FIFO that nobody writes to would block for ever."""
    fifo = tmp_path / "fifo.onnx"
    os.mkfifo(fifo)
    done: list[str] = []

    def register() -> None:
        for path in (fifo, "/dev/zero", "/dev/null"):
            with pytest.raises(REFUSAL) as caught:
                server.register("bad", path)
            done.append(str(caught.value))

    thread = threading.Thread(target=register, daemon=True)
    thread.start()
    thread.join(10)
    assert len(done) == 3, f"hangs behind {done}"
    assert "fifo.onnx" in done[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(server: ai.Server, models: Path, tmp_path: Path) -> None:
    path = tmp_path / "secret.onnx"
    path.write_bytes(good(models))
    path.chmod(0)
    refuses(server, path, "secret.onnx")


def altered(models: Path, change: Any) -> bytes:
    import onnx

    model = onnx.load(models / "add.onnx")
    change(model)
    return model.SerializeToString()


def set_opset(model: Any) -> None:
    model.opset_import[0].version = 999


def set_ir(model: Any) -> None:
    model.ir_version = 99


def set_domain(model: Any) -> None:
    model.graph.node[0].domain = "no.such.domain"


def set_operator(model: Any) -> None:
    model.graph.node[0].op_type = "NoSuchOperator"


def set_input(model: Any) -> None:
    model.graph.node[0].input[0] = "missing"


def make_a_cycle(model: Any) -> None:
    model.graph.node[0].input[0] = model.graph.node[0].output[0]


def drop_the_graph(model: Any) -> None:
    model.ClearField("graph")


def set_type(model: Any) -> None:
    model.graph.input[0].type.tensor_type.elem_type = 77


def mix_types(model: Any) -> None:
    model.graph.input[0].type.tensor_type.elem_type = 7


@pytest.mark.parametrize(
    "change",
    [set_opset, set_ir, set_domain, set_operator, set_input, make_a_cycle, drop_the_graph, set_type, mix_types],
)
def test_a_model_that_cannot_be(change: Any, server: ai.Server, models: Path) -> None:
    refuses(server, altered(models, change))


NAMES = {
    "no UTF-8": b"\xff",
    "half a character": b"\xc3",
    "surrogate": b"\xed\xa0\x80",
    "quote": b'"',
    "backslash": b"\\",
    "line feed": b"\n",
    "blank": b" ",
    "letters": "é日本".encode(),
    "long": b"x" * 127,
}


@pytest.mark.parametrize("what", NAMES)
@pytest.mark.parametrize("of", ["tensor", "dimension"])
def test_names_of_any_bytes(what: str, of: str, models: Path) -> None:
    """A name that is no UTF-8 is refused, or shown as something that is; every other one is served as it is."""
    name = NAMES[what]
    data = (models / "add.onnx").read_bytes()
    field, old = (b"\x0a", b"A") if of == "tensor" else (b"\x12", b"N")
    model = rename_in_protobuf(data, field, old, name)
    with ai.Server(port=0, log=ai.Log(level="off")) as server:
        server.register("good", models / "add.onnx")
        try:
            server.register("odd", model)
        except REFUSAL:
            assert [model.name for model in server.models()] == ["good"]
            return
        assert sorted(model.name for model in server.models()) == ["good", "odd"]
        address = ("127.0.0.1", server.port)
        for target in ("/v2/models/odd", "/v2/models/odd/config", "/v2/models/odd/stats"):
            described = wire.ask(address, wire.request("GET", target)).json()
        described = wire.ask(address, wire.request("GET", "/v2/models/odd")).json()
        first = described["inputs"][0]["name"]
        assert first == ("A" if of == "dimension" else name.decode())
        inputs = [wire.tensor(first, [[1, 2, 3, 4]]), wire.tensor("B", [[10, 20, 30, 40]])]
        assert wire.ask(address, wire.infer("odd", inputs)).outputs()["Y"].tolist() == [[11, 22, 33, 44]]
        answer = wire.ask(address, wire.infer("odd", [{**inputs[0], "shape": [2, 2]}, inputs[1]]))
        assert answer.status == 400
        answer.error()


def rename_in_protobuf(data: bytes, field: bytes, old: bytes, new: bytes) -> bytes:
    """Put other bytes where a text field has `old`, in all messages of an ONNX file, whose lengths follow."""

    def walk(message: bytes, depth: int) -> bytes:
        out, at = b"", 0
        while at < len(message):
            tag, at_value = read_varint(message, at)
            size, begin = read_varint(message, at_value)
            if tag & 7 == 0:
                out, at = out + message[at:begin], begin
                continue
            assert tag & 7 == 2
            value = message[begin : begin + size]
            if value == old and bytes([tag]) == field:
                value = new
            elif looks_nested(value) and depth < 8:
                value = walk(value, depth + 1)
            out, at = out + message[at:at_value] + varint(len(value)) + value, begin + size
        return out

    def looks_nested(value: bytes) -> bool:
        at = 0
        while at < len(value):
            if value[at] & 7 not in (0, 2) or not 8 <= value[at] < 0x80 or at + 1 >= len(value):
                return False
            size, begin = read_varint(value, at + 1)
            at = begin if value[at] & 7 == 0 else begin + size
        return at == len(value) and at > 0

    return walk(data, 0)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def varint(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)


def test_an_initializer_of_terabytes(server: ai.Server, models: Path) -> None:
    """Declared, not there: it must not be allocated."""
    from onnx import TensorProto

    def add_initializer(model: Any) -> None:
        huge = TensorProto(name="huge", data_type=TensorProto.FLOAT, dims=[1 << 20, 1 << 20])
        model.graph.initializer.append(huge)
        model.graph.node[0].input[0] = "huge"

    refuses(server, altered(models, add_initializer))


def test_types_that_the_runtime_refuses(server: ai.Server, models: Path) -> None:
    refuses(server, models / "refused" / "narrow_complex64.onnx", "narrow_complex64.onnx")


def test_types_that_the_protocol_cannot_carry(server: ai.Server, models: Path) -> None:
    for name in ("narrow_int4", "narrow_uint4"):
        refuses(server, models / f"{name}.onnx", "X", name.removeprefix("narrow_"))


def test_batching_that_a_model_does_not_allow(server: ai.Server, models: Path) -> None:
    for name, tensor in (("fix1", "X"), ("sumall", "Y"), ("scalar", "X"), ("loop", "ITERS"), ("const", "C")):
        with pytest.raises(REFUSAL, match=tensor):
            server.register("bad", models / f"{name}.onnx", batching=ai.Batching(max_size=8))


def test_threads_and_descriptors_of_failed_loads(server: ai.Server, models: Path, tmp_path: Path) -> None:
    (tmp_path / "half.onnx").write_bytes(good(models)[:10_000])
    refuses(server, tmp_path / "half.onnx")
    before = len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        with pytest.raises(REFUSAL):
            server.register("bad", tmp_path / "half.onnx")
    assert (len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))) <= before


def test_loading_and_unloading_keeps_threads_and_descriptors(server: ai.Server, models: Path) -> None:
    options = {"intra_op_num_threads": 2}
    server.register("bad", models / "cnn.onnx", session_options=options)
    server.unregister("bad")
    before = len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        server.register("bad", models / "cnn.onnx", session_options=options)
        server.unregister("bad")
    wire.wait_for(
        lambda: (len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))) <= before, "all is given back"
    )


def test_others_are_served_while_models_fail_to_load(server: ai.Server, models: Path) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def ask() -> None:
        one = np.ones((1, 4), np.float32)
        try:
            while not stop.is_set():
                assert server.infer("add", {"A": one, "B": one})["Y"].tolist() == [[2, 2, 2, 2]]
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(10):
        with pytest.raises(REFUSAL):
            server.register("bad", good(models)[:10_000])
    stop.set()
    thread.join()
    assert failures == []


@pytest.mark.parametrize("what", ["0 bytes", "half", "text"])
def test_the_command_names_the_file(what: str, models: Path, tmp_path: Path) -> None:
    path = tmp_path / "broken.onnx"
    path.write_bytes(DAMAGED[what](good(models)))
    command = [sys.executable, "-m", "asio_infer", "serve", str(path), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "broken.onnx" in done.stderr
    assert len(done.stderr.splitlines()) == 1
