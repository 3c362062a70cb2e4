"""Registering models: what works, and mistakes that are caught at the call."""

import socket
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asio_infer as ai

X = {"INPUT0": np.arange(8, dtype=np.float32).reshape(2, 4)}
ECHO = ai.Identity(shape=(-1, 4))


def names(server: ai.Server) -> list[tuple[str, int]]:
    return [(model.name, model.version) for model in server.models()]


def test_a_path_bytes_and_a_model_proto(models: Path, idle_server: ai.Server) -> None:
    import onnx

    path = models / "add.onnx"
    idle_server.register("path", path)
    idle_server.register("text", str(path))
    idle_server.register("bytes", path.read_bytes())
    idle_server.register("proto", onnx.load(path))
    with idle_server:
        a, b = np.ones((1, 4), np.float32), np.full((1, 4), 2, np.float32)
        for name in ("path", "text", "bytes", "proto"):
            assert idle_server.infer(name, {"A": a, "B": b})["Y"].tolist() == [[3, 3, 3, 3]]


def test_what_a_model_says_of_itself(models: Path, idle_server: ai.Server) -> None:
    model = idle_server.register("sum", models / "add.onnx", version=3, instances=2)
    assert (model.name, model.version) == ("sum", 3)
    assert [(t.name, t.datatype, t.shape, t.symbols) for t in model.inputs] == [
        ("A", "FP32", (-1, 4), ("N", "")),
        ("B", "FP32", (-1, 4), ("N", "")),
    ]
    assert [(t.name, t.datatype, t.shape) for t in model.outputs] == [("Y", "FP32", (-1, 4))]
    assert model.metadata["platform"] == "onnxruntime_onnx"
    assert model.metadata["instances"] == 2
    assert model.info.providers == ("CPUExecutionProvider",)
    assert repr(model) == "<asio_infer.Model 'sum' version 3 on onnxruntime_onnx>"


def test_before_and_after_start_and_unregister(idle_server: ai.Server) -> None:
    idle_server.register("a", ECHO)
    with idle_server:
        b = idle_server.register("b", ECHO, version=7)
        assert names(idle_server) == [("a", 1), ("b", 7)]
        assert b.infer(X)["OUTPUT0"].tolist() == X["INPUT0"].tolist()
        idle_server.unregister("a")
        with pytest.raises(ai.NotFound, match="'a'"):
            idle_server.infer("a", X)
        with pytest.raises(ai.NotFound):
            idle_server.unregister("b", version=6)
        assert names(idle_server) == [("b", 7)]


def test_versions(idle_server: ai.Server) -> None:
    idle_server.register("m", ai.Identity(shape=(-1, 4)), version=2)
    idle_server.register("m", ai.Identity(shape=(-1, 4), fail="always"), version=10)
    with idle_server:
        with pytest.raises(ai.ModelError):
            idle_server.infer("m", X)
        assert idle_server.infer("m", X, version=2)["OUTPUT0"].shape == (2, 4)
        idle_server.unregister("m", 10)
        assert idle_server.infer("m", X)["OUTPUT0"].shape == (2, 4)
        idle_server.register("m", ECHO, version=3)
        idle_server.unregister("m")
        assert names(idle_server) == []


def test_the_same_again(idle_server: ai.Server) -> None:
    idle_server.register("m", ECHO)
    with idle_server:
        with pytest.raises(ai.AlreadyExists, match="'m'"):
            idle_server.register("m", ai.Identity(shape=(-1, 2)))
        assert idle_server.infer("m", X)["OUTPUT0"].shape == (2, 4)
        idle_server.register("m", ai.Identity(shape=(-1, 2)), replace=True)
        with pytest.raises(ai.InvalidRequest):
            idle_server.infer("m", X)
        assert idle_server.infer("m", {"INPUT0": np.ones((1, 2), np.float32)})["OUTPUT0"].shape == (1, 2)


def test_replacing_is_one_step(models: Path, idle_server: ai.Server) -> None:
    """Requests never see a gap: every answer is the old model's or the new one's."""
    idle_server.register("m", ECHO)
    failures: list[BaseException] = []
    stop = threading.Event()

    def ask() -> None:
        try:
            while not stop.is_set():
                assert idle_server.infer("m", X)["OUTPUT0"].tolist() == X["INPUT0"].tolist()
        except BaseException as error:
            failures.append(error)

    with idle_server:
        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(30):
            idle_server.register("m", ECHO, replace=True)
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []


@pytest.mark.parametrize("name", ["a", "é" * 128, "a b", "=", "...", "日本語", "a" * 256])
def test_names_that_work(name: str, idle_server: ai.Server) -> None:
    assert idle_server.register(name, ECHO).name == name


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\nb", "a\0b", "\x7f", "a" * 257, "é" * 129, "\ud800"])
def test_names_that_do_not(name: str, idle_server: ai.Server) -> None:
    with pytest.raises(ai.InvalidRequest, match="name"):
        idle_server.register(name, ECHO)
    assert names(idle_server) == []


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"name": b"m"}, TypeError, "b'm'"),
        ({"version": 0}, ai.InvalidRequest, "0"),
        ({"version": 2**63}, ai.InvalidRequest, str(2**63)),
        ({"version": "1"}, TypeError, "'1'"),
        ({"instances": 0}, ai.InvalidRequest, "0"),
        ({"instances": 10**6}, ai.InvalidRequest, "1000000"),
        ({"batching": 8}, TypeError, "8"),
        ({"queue": 8}, TypeError, "8"),
        ({"warmup": "yes"}, TypeError, "'yes'"),
        ({"model": None}, TypeError, "NoneType"),
        ({"model": 3}, TypeError, "int"),
        ({"model": ""}, ai.InvalidRequest, "empty"),
        ({"model": b""}, ai.InvalidRequest, "empty"),
        ({"model": "no/such/file.onnx"}, ai.InvalidRequest, "no/such/file.onnx"),
        ({"model": "a\0b"}, ai.InvalidRequest, "NUL"),
        ({"model": b"not a model"}, ai.AsioInferError, "'m'"),
        ({"model": ai.Identity(datatype="FP33")}, ai.InvalidRequest, "FP33"),
        ({"session_options": {"no_such_option": 1}}, ai.InvalidRequest, "no_such_option"),
        ({"session_options": {"intra_op_num_threads": "many"}}, ai.InvalidRequest, "many"),
        ({"providers": ["NoSuchExecutionProvider"]}, ai.InvalidRequest, "NoSuchExecutionProvider"),
        ({"nonsense": 1}, TypeError, "nonsense"),
    ],
)
def test_mistakes_raise_at_the_call(
    arguments: dict[str, Any], kind: type[Exception], text: str, models: Path, idle_server: ai.Server
) -> None:
    idle_server.register("before", ECHO)
    given = {"name": "m", "model": models / "add.onnx", **arguments}
    with pytest.raises(kind) as caught:
        idle_server.register(**given)
    assert text in str(caught.value)
    assert names(idle_server) == [("before", 1)]
    with idle_server:
        assert idle_server.infer("before", X)["OUTPUT0"].shape == (2, 4)


def test_a_missing_provider_is_a_warning_if_the_cpu_is_last(models: Path, idle_server: ai.Server) -> None:
    model = idle_server.register(
        "m", models / "add.onnx", providers=["NoSuchExecutionProvider", ("CPUExecutionProvider", {})]
    )
    assert model.info.providers == ("CPUExecutionProvider",)


def test_a_port_in_use_raises_at_start(idle_server: ai.Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ai.Unavailable, match=str(port)):
            ai.Server(port=port, log=ai.Log(level="off")).start()
    with idle_server:
        other = ai.Server(port=idle_server.port, log=ai.Log(level="off"))
        with pytest.raises(ai.Unavailable, match=str(idle_server.port)):
            other.start()
        with ai.Server(port=0, log=ai.Log(level="off")) as second:
            assert second.port not in (0, idle_server.port)


def test_a_host_that_is_no_address() -> None:
    with pytest.raises(ai.InvalidRequest, match="no such host"):
        ai.Server("no such host", 0, log=ai.Log(level="off")).start()


def test_200_models(idle_server: ai.Server) -> None:
    with idle_server:
        for i in range(200):
            idle_server.register(f"m{i}", ECHO)
        assert len(idle_server.models()) == 200
        assert idle_server.infer("m199", X)["OUTPUT0"].shape == (2, 4)
