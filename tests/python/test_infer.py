"""Inference in process: numpy in, numpy out."""

import gc
import sys
import threading
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import asio_infer as ai

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}
NUMBERS: dict[str, Any] = {**{name: np.dtype(name) for name in INTEGERS}, **FLOATS, "bool": np.bool_}


def same(got: np.ndarray, right: np.ndarray) -> bool:
    """Equal to the last bit, in type, shape and values."""
    return got.dtype == right.dtype and got.shape == right.shape and got.tobytes() == right.tobytes()


def matrix(dtype: Any) -> np.ndarray:
    values = np.array([[0, 1, 2, 3, 4, 5], [6, 7, 100, 101, 102, 127], [1, 0, 1, 0, 1, 0], [3, 1, 4, 1, 5, 9]])
    return values.astype(dtype)


# ---- Values


@pytest.mark.parametrize("name", NUMBERS)
def test_every_type_of_numbers(name: str, server: ai.Server) -> None:
    x = matrix(NUMBERS[name])
    if x.dtype.kind == "i":
        x[0, 0], x[0, 1] = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
    elif x.dtype.kind == "f":
        x[0, :4] = [np.finfo(x.dtype).max, np.finfo(x.dtype).smallest_subnormal, np.nan, -0.0]
    assert same(server.infer(f"id_{name}", {"X": x})["Y"], x)


VIEWS: dict[str, Any] = {
    "transposed": lambda a: a.T,
    "backwards": lambda a: a[::-1],
    "both backwards": lambda a: a[::-1, ::-1],
    "every second column": lambda a: a[:, ::2],
    "one column": lambda a: a[:, 3:4],
    "broadcast": lambda a: np.broadcast_to(a[:1], (5, 6)),
    "broadcast scalar": lambda a: np.broadcast_to(a[0, 3], (3, 2)),
    "Fortran order": np.asfortranarray,
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "big-endian transposed": lambda a: a.astype(a.dtype.newbyteorder(">")).T,
    "little-endian": lambda a: a.astype(a.dtype.newbyteorder("<")),
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "no rows": lambda a: a[:0],
    "no columns": lambda a: a[:, :0],
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
    "subclass": np.ma.MaskedArray,
}


@pytest.mark.parametrize("name", ["int64", "fp32", "uint8", "fp16"])
@pytest.mark.parametrize("view", VIEWS)
def test_any_layout(name: str, view: str, server: ai.Server) -> None:
    x = VIEWS[view](matrix(NUMBERS[name]))
    right = np.array(np.asarray(x), NUMBERS[name], order="C")
    assert same(server.infer(f"id_{name}", {"X": x})["Y"], right)


@pytest.mark.parametrize("view", ["transposed", "every second column", "big-endian", "broadcast"])
def test_any_layout_of_a_large_array(view: str, server: ai.Server) -> None:
    x = VIEWS[view](np.arange(600_000, dtype=np.float32).reshape(-1, 6))
    assert same(server.infer("any_rank", {"X": x})["Y"], np.array(x, np.float32, order="C"))


def test_a_memory_map(tmp_path: Path, server: ai.Server) -> None:
    file = tmp_path / "x.bin"
    matrix(np.float32).tofile(file)
    x = np.memmap(file, np.float32, "r", shape=(4, 6))
    assert same(server.infer("id_fp32", {"X": x})["Y"], matrix(np.float32))


def test_scalars(server: ai.Server) -> None:
    for x in (np.array(2.5, np.float32), np.float32(2.5), 2.5):
        assert same(server.infer("scalar", {"X": x})["Y"], np.array(5, np.float32))
    assert same(server.infer("sumall", {"X": np.ones((3, 2), np.float32)})["Y"], np.array(6, np.float32))
    assert same(server.infer("any_rank", {"X": np.array(1, ">f4")})["Y"], np.array(1, np.float32))


def test_bfloat16(server: ai.Server) -> None:
    x = np.array([[1, -np.inf], [1e-40, 3.14]], ml_dtypes.bfloat16)
    y = server.infer("id_bf16", {"X": x})["Y"]
    assert y.dtype == ml_dtypes.bfloat16
    assert same(y, x)
    assert same(server.infer("id_bf16", {"X": x.T})["Y"], x.T)
    assert same(server.infer("id_bf16", {"X": x.view(np.uint16)})["Y"], x)
    assert same(server.infer("id_bf16", {"X": [[1, 2.5]]})["Y"], np.array([[1, 2.5]], ml_dtypes.bfloat16))


def test_bfloat16_without_ml_dtypes(server: ai.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    from asio_infer import _arrays

    bits = np.array([[0x3F80, 0xFF80]], np.uint16)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    _arrays.bfloat16.cache_clear()
    try:
        assert same(server.infer("id_bf16", {"X": bits})["Y"], bits)
        with pytest.raises(TypeError, match="ml_dtypes"):
            server.infer("id_bf16", {"X": [[1.0]]})
    finally:
        monkeypatch.undo()
        _arrays.bfloat16.cache_clear()


# ---- Text


@pytest.mark.parametrize(
    "x",
    [
        np.array(["a\0b", "", "é", "😀", "x" * 5000], object),
        np.array([b"\xff\0", b"", "mixed"], object),
        np.array(["a", "", "日本"], "U3"),
        np.array([b"ab", b"c\0\0", b""], "S4"),
        np.array(["a", "bb", "ccc", "dddd"], object)[::-2],
        np.array([["a", "b"], ["c", "d"]], object).T.reshape(-1),
        np.array([], object),
        ["a", b"b", "é"],
        ("one",),
        np.array(["a", "b"], ">U1"),
    ],
)
def test_text(x: Any, server: ai.Server) -> None:
    y = server.infer("str", {"X": x})["Y"]
    right = [v.encode() if isinstance(v, str) else v for v in (x.tolist() if isinstance(x, np.ndarray) else x)]
    assert y.dtype == object
    assert y.tolist() == right


def test_text_of_two_dimensions(server: ai.Server) -> None:
    x = np.array([["a", "b", "c"], ["d", "e", "f"]], object)
    assert server.infer("id_bytes", {"X": x.T})["Y"].tolist() == [[b"a", b"d"], [b"b", b"e"], [b"c", b"f"]]


@pytest.mark.parametrize("bad", [None, 1, 1.5, ["a"], bytearray(b"a")])
def test_an_object_that_is_no_text(bad: object, server: ai.Server) -> None:
    x = np.empty(2, object)
    x[0], x[1] = "a", bad
    with pytest.raises(TypeError, match=f"'X': element 1 .*{type(bad).__name__}"):
        server.infer("str", {"X": x})


def test_a_lone_surrogate(server: ai.Server) -> None:
    with pytest.raises(ai.InvalidRequest, match=r"element 0 .*surrogate"):
        server.infer("str", {"X": np.array(["\ud800"], object)})


# ---- Types that do not fit


@pytest.mark.parametrize(
    ("x", "named"),
    [
        (np.ones((1, 6), np.complex64), "complex64"),
        (np.ones((1, 6), "M8[s]"), "datetime64"),
        (np.ones((1, 6), "m8[s]"), "timedelta64"),
        (np.ones((1, 6), [("a", "i4")]), "'a'"),
        (np.ones((1, 6), np.longdouble), "float128"),
        (np.ones((1, 6), "V4"), "V4"),
    ],
)
def test_a_dtype_without_a_datatype(x: np.ndarray, named: str, server: ai.Server) -> None:
    with pytest.raises(TypeError, match="input 'X'") as caught:
        server.infer("id_fp32", {"X": x})
    assert named in str(caught.value)


@pytest.mark.parametrize(
    "x",
    [
        np.ones((1, 6), np.float64),
        np.ones((1, 6), np.float16),
        np.ones((1, 6), np.int32),
        np.ones((1, 6), np.bool_),
        np.array([["a"]], object),
        np.float64(1.0),
        np.ones((1, 6), ml_dtypes.bfloat16),
    ],
)
def test_another_dtype_than_the_model_takes(x: Any, server: ai.Server) -> None:
    with pytest.raises(TypeError, match="FP32") as caught:
        server.infer("id_fp32", {"X": x})
    assert str(np.asarray(x).dtype) in str(caught.value)


# ---- Lists and numbers


@pytest.mark.parametrize(
    ("model", "x", "right"),
    [
        ("id_fp32", [[0.1, 2]], np.array([[0.1, 2]], np.float32)),
        ("id_fp32", [(1, 2), (3, 4)], np.array([[1, 2], [3, 4]], np.float32)),
        ("id_fp16", [[65504.0, float("inf")]], np.array([[65504, np.inf]], np.float16)),
        ("id_fp64", [[0.1, 2**53]], np.array([[0.1, 2**53]], np.float64)),
        ("id_fp64", [[0.1, 2**60]], np.array([[0.1, 2**60]], np.float64)),
        ("id_int64", [[-(2**63), 2**63 - 1]], np.array([[-(2**63), 2**63 - 1]], np.int64)),
        ("id_uint64", [[0, 2**64 - 1]], np.array([[0, 2**64 - 1]], np.uint64)),
        ("id_uint8", [[0, 255]], np.array([[0, 255]], np.uint8)),
        ("id_bool", [[True, False]], np.array([[True, False]])),
        ("id_fp32", [np.ones(2, np.float32), np.zeros(2, np.float32)], np.array([[1, 1], [0, 0]], np.float32)),
        ("id_int32", [[]], np.zeros((1, 0), np.int32)),
    ],
)
def test_lists_take_the_type_of_the_model(model: str, x: Any, right: np.ndarray, server: ai.Server) -> None:
    assert same(server.infer(model, {"X": x})["Y"], right)


@pytest.mark.parametrize(
    ("model", "x", "kind"),
    [
        ("id_int64", [[1.5]], TypeError),
        ("id_int64", [[1.0]], TypeError),
        ("id_int64", [[2**63]], ai.InvalidRequest),
        ("id_uint8", [[256]], ai.InvalidRequest),
        ("id_uint8", [[-1]], ai.InvalidRequest),
        ("id_uint64", [[-1]], ai.InvalidRequest),
        ("id_bool", [[1]], TypeError),
        ("id_int8", [[True]], TypeError),
        ("id_fp32", [[1e39]], ai.InvalidRequest),
        ("id_fp16", [[65520.0]], ai.InvalidRequest),
        ("id_fp32", [[2**24 + 1]], ai.InvalidRequest),
        ("id_fp64", [[0.5, 2**53 + 1]], ai.InvalidRequest),
        ("id_fp64", [[10**400]], ai.InvalidRequest),
        ("id_int64", [[0, 2**64 - 1]], ai.InvalidRequest),
        ("id_fp32", [["1.5"]], TypeError),
        ("id_fp32", [[None]], TypeError),
        ("id_fp32", [[1.0], [1.0, 2.0]], ai.InvalidRequest),
        ("id_fp32", None, TypeError),
        ("id_fp32", {"a": 1}, TypeError),
        ("id_fp32", object(), TypeError),
    ],
)
def test_lists_that_do_not_fit(model: str, x: Any, kind: type[Exception], server: ai.Server) -> None:
    with pytest.raises(kind, match="input 'X'"):
        server.infer(model, {"X": x})


def test_what_numpy_can_read(server: ai.Server) -> None:
    class Wrapped:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return matrix(np.float32)

    assert same(server.infer("id_fp32", {"X": Wrapped()})["Y"], matrix(np.float32))
    assert same(
        server.infer("id_uint8", {"X": memoryview(bytes(6)).cast("B", (2, 3))})["Y"], np.zeros((2, 3), np.uint8)
    )


# ---- Arguments


def test_outputs_are_chosen(server: ai.Server) -> None:
    x = np.ones((2, 3), np.float32)
    assert list(server.infer("reveal", {"X": x})) == ["Y", "BS", "LEN"]
    assert list(server.infer("reveal", {"X": x}, outputs=["LEN", "Y"])) == ["LEN", "Y"]
    with pytest.raises(ai.InvalidRequest, match="nope"):
        server.infer("reveal", {"X": x}, outputs=["nope"])
    with pytest.raises(ai.InvalidRequest, match="empty"):
        server.infer("reveal", {"X": x}, outputs=[])
    with pytest.raises(TypeError):
        server.infer("reveal", {"X": x}, outputs="Y")


@pytest.mark.parametrize(
    ("inputs", "kind", "text"),
    [
        ({}, ai.InvalidRequest, "A"),
        ({"A": np.ones((1, 4), np.float32)}, ai.InvalidRequest, "B"),
        ({n: np.ones((1, 4), np.float32) for n in "ABC"}, ai.InvalidRequest, "C"),
        ({"A": np.ones((1, 4), np.float32), "B": np.ones((1, 5), np.float32)}, ai.InvalidRequest, "B"),
        ({"A": np.ones((3, 4), np.float32), "B": np.ones((1, 4), np.float32)}, ai.InvalidRequest, "B"),
        ([("A", 1)], TypeError, "mapping"),
        (None, TypeError, "mapping"),
        ({1: np.ones((1, 4), np.float32)}, TypeError, "str"),
    ],
)
def test_inputs_that_contradict_the_model(inputs: Any, kind: type[Exception], text: str, server: ai.Server) -> None:
    with pytest.raises(kind, match=text):
        server.infer("add", inputs)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"model": 1}, TypeError),
        ({"model": "nobody"}, ai.NotFound),
        ({"version": 2}, ai.NotFound),
        ({"version": 0}, ai.InvalidRequest),
        ({"version": "1"}, TypeError),
        ({"parameters": {"x": None}}, TypeError),
        ({"parameters": {"x": 2**64}}, ai.InvalidRequest),
        ({"parameters": {"x": -(2**63) - 1}}, ai.InvalidRequest),
        ({"parameters": {"timeout": 5}}, ai.InvalidRequest),
        ({"parameters": [1]}, TypeError),
        ({"timeout_s": 0}, ai.InvalidRequest),
        ({"timeout_s": -1}, ai.InvalidRequest),
        ({"timeout_s": float("nan")}, ai.InvalidRequest),
        ({"timeout_s": "1"}, TypeError),
        ({"id": 3}, TypeError),
    ],
)
def test_arguments_that_make_no_sense(arguments: dict[str, Any], kind: type[Exception], server: ai.Server) -> None:
    given = {"model": "echo", "inputs": {"INPUT0": np.ones((1, 4), np.float32)}, **arguments}
    with pytest.raises(kind):
        server.infer(**given)


def test_arguments_that_do(server: ai.Server) -> None:
    parameters = {"b": True, "i": -(2**63), "u": 2**64 - 1, "f": 0.5, "s": "é"}
    x = np.ones((1, 4), np.float32)
    outputs = server.infer("echo", {"INPUT0": x}, version=1, parameters=parameters, id="é", timeout_s=1e12)
    assert same(outputs["OUTPUT0"], x)


def test_a_run_that_fails(server: ai.Server) -> None:
    with pytest.raises(ai.ModelError):
        server.infer("gather", {"IDX": np.array([1, 77], np.int64)})
    assert server.infer("gather", {"IDX": np.array([1], np.int64)})["Y"].tolist() == [1.5]


def test_before_start_and_after_stop(idle_server: ai.Server) -> None:
    idle_server.register("echo", ai.Identity(shape=(-1, 4)))
    x = {"INPUT0": np.ones((1, 4), np.float32)}
    with pytest.raises(ai.Unavailable):
        idle_server.infer("echo", x)
    with idle_server:
        idle_server.infer("echo", x)
    with pytest.raises(ai.Unavailable):
        idle_server.infer("echo", x)
    with idle_server:
        assert idle_server.infer("echo", x)["OUTPUT0"].shape == (1, 4)


# ---- Memory


def test_outputs_own_their_memory(models: Path) -> None:
    """What is returned outlives the server, the model and a thousand further runs, and may be written to."""
    rng = np.random.default_rng(0)
    server = ai.Server(port=0, log=ai.Log(level="off"))
    server.register("id_fp32", models / "id_fp32.onnx")
    server.start()
    sizes = (1, 100, 5_000, 100_000)
    inputs = [rng.standard_normal((4, size)).astype(np.float32) for size in sizes for _ in range(3)]
    outputs = [server.infer("id_fp32", {"X": x})["Y"] for x in inputs]
    for _ in range(300):
        server.infer("id_fp32", {"X": rng.standard_normal((4, 5_000)).astype(np.float32)})
    server.unregister("id_fp32")
    server.stop()
    del server
    gc.collect()
    for x, y in zip(inputs, outputs, strict=True):
        assert same(y, x)
        assert y.flags.writeable
        y[:] = 7
    assert all((y == 7).all() for y in outputs)


def test_outputs_of_one_answer_do_not_share_memory(server: ai.Server, models: Path) -> None:
    server.register("beside", models / "pass_beside.onnx", batching=None)
    x = np.zeros((20_000, 2), np.float32)
    outputs = server.infer("beside", {"X": x})
    outputs["X"][:] = 1
    assert not outputs["Y"].any()
    assert not x.any()


def test_batched_answers_do_not_share_memory(idle_server: ai.Server) -> None:
    idle_server.register("echo", ai.Identity(shape=(-1, 8192), delay_s=0.02))
    results: list[np.ndarray] = []

    def ask(value: int) -> None:
        x = np.full((1, 8192), value, np.float32)
        results.append(idle_server.infer("echo", {"INPUT0": x})["OUTPUT0"])

    with idle_server:
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    values = sorted(int(y[0, 0]) for y in results)
    assert values == list(range(8))
    for y in results:
        before = [int(other[0, 0]) for other in results]
        y[:] = -1
        assert sum(int(other[0, 0]) != b for other, b in zip(results, before, strict=True)) == 1
        y[:] = before[[other is y for other in results].index(True)]


def test_nothing_leaks(server: ai.Server) -> None:
    x = np.ones((2, 3), np.float32)
    text = np.array(["a", "b"], object)

    def once() -> None:
        server.infer("reveal", {"X": x})
        server.infer("str", {"X": text})
        with pytest.raises(ai.InvalidRequest):
            server.infer("reveal", {"Z": x})

    once()
    kept = [x, text, text[0], server._core]
    counts = list(map(sys.getrefcount, kept))
    for _ in range(50):
        once()
    assert counts == list(map(sys.getrefcount, kept))


# ---- Threads


def test_other_threads_run_while_one_waits(idle_server: ai.Server) -> None:
    idle_server.register("slow", ai.Identity(shape=(-1, 4), delay_s=0.3))
    x = {"INPUT0": np.ones((1, 4), np.float32)}
    with idle_server:
        thread = threading.Thread(target=idle_server.infer, args=("slow", x))
        thread.start()
        turns = 0
        while thread.is_alive():
            time.sleep(0.001)
            turns += 1
    assert turns > 50


def test_many_threads_get_their_own_answers(server: ai.Server) -> None:
    failures: list[BaseException] = []

    def ask(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(100):
                a, b = rng.standard_normal((2, 1 + seed % 3, 4)).astype(np.float32)
                assert same(server.infer("add", {"A": a, "B": b})["Y"], a + b)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_deadline(idle_server: ai.Server) -> None:
    idle_server.register("slow", ai.Identity(shape=(-1, 4), delay_s=0.5), batching=None)
    x = {"INPUT0": np.ones((1, 4), np.float32)}
    with idle_server:
        busy = threading.Thread(target=idle_server.infer, args=("slow", x))
        busy.start()
        while idle_server.stats()["model_stats"][0]["name"] != "slow" or not busy.is_alive():
            time.sleep(0.001)
        time.sleep(0.1)
        began = time.monotonic()
        with pytest.raises(ai.DeadlineExceeded):
            idle_server.infer("slow", x, timeout_s=0.1)
        assert time.monotonic() - began < 0.35
        busy.join()


def test_a_queue_timeout_and_a_full_queue(idle_server: ai.Server) -> None:
    queue = ai.Queue(max_size=1, timeout_s=0.05)
    idle_server.register("slow", ai.Identity(shape=(-1, 4), delay_s=0.5), batching=None, queue=queue)
    x = {"INPUT0": np.ones((1, 4), np.float32)}
    outcomes: list[str] = []

    def ask() -> None:
        try:
            idle_server.infer("slow", x)
            outcomes.append("ok")
        except ai.AsioInferError as error:
            outcomes.append(error.code)

    with idle_server:
        threads = [threading.Thread(target=ask) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(outcomes) == ["deadline_exceeded", "ok", "queue_full", "queue_full", "queue_full"]


# ---- The rest of the surface


def test_statistics_and_metrics(server: ai.Server) -> None:
    server.infer("tiny", {"x": np.ones((3, 16), np.float32)})
    tiny = next(m for m in server.stats()["model_stats"] if m["name"] == "tiny")
    assert int(tiny["inference_count"]) >= 3
    assert 'nv_inference_request_success{model="tiny",version="1"}' in server.metrics()


def test_ready_port_and_url(idle_server: ai.Server) -> None:
    assert not idle_server.ready()
    assert idle_server.port == 0
    with idle_server:
        assert idle_server.ready()
        assert idle_server.port > 0
        assert idle_server.url == f"http://127.0.0.1:{idle_server.port}"
        assert repr(idle_server) == f"<asio_infer.Server {idle_server.url} running>"
    assert not idle_server.ready()
