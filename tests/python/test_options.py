"""Options: defaults, checks, and that they reach the core."""

import dataclasses
import math
from typing import Any

import pytest

import asio_infer as ai
from asio_infer import _core
from asio_infer._model_options import make_model_options


def test_defaults_of_limits_are_those_of_the_core() -> None:
    core, ours = _core.Limits(), ai.Limits()
    for field in dataclasses.fields(ai.Limits):
        value = getattr(ours, field.name)
        assert getattr(core, field.name) == (0 if value is None else value), field.name
    assert {name for name in dir(core) if not name.startswith("_")} == {f.name for f in dataclasses.fields(ai.Limits)}


def test_defaults_of_batching_and_queue_are_those_of_the_core() -> None:
    core = _core.ModelOptions()
    assert (core.batching.max_rows, core.batching.max_delay_s) == (ai.Batching().max_size, ai.Batching().max_delay_s)
    assert core.queue.max_size == ai.Queue().max_size
    assert core.batching.choice == _core.BatchingMode.automatic


@pytest.mark.parametrize("kind", [ai.Batching, ai.Queue, ai.Limits, ai.Log, ai.Identity])
def test_options_are_frozen_and_keyword_only(kind: Any) -> None:
    options = kind()
    with pytest.raises(TypeError):
        kind(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(options, dataclasses.fields(kind)[0].name, 1)
    assert options == kind()


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda: ai.Batching(max_size=0), "0"),
        (lambda: ai.Batching(max_size=-1), "-1"),
        (lambda: ai.Batching(max_size=10**9), "1000000000"),
        (lambda: ai.Batching(max_delay_s=-0.5), "-0.5"),
        (lambda: ai.Batching(max_delay_s=math.nan), "nan"),
        (lambda: ai.Batching(max_delay_s=math.inf), "inf"),
        (lambda: ai.Queue(max_size=0), "0"),
        (lambda: ai.Queue(timeout_s=-1), "-1"),
        (lambda: ai.Limits(max_body_bytes=0), "0"),
        (lambda: ai.Limits(inflight_bytes=-5), "-5"),
        (lambda: ai.Limits(header_timeout_s=0), "0"),
        (lambda: ai.Log(level="loud"), "'loud'"),
        (lambda: ai.Log(format="xml"), "'xml'"),
        (lambda: ai.Identity(shape=(-2,)), "-2"),
        (lambda: ai.Server(port=65_536), "65536"),
        (lambda: ai.Server(port=-1), "-1"),
        (lambda: ai.Server(io_threads=0), "0"),
        (lambda: ai.Server(log="xml"), "'xml'"),
    ],
)
def test_a_wrong_value_is_named(make: Any, value: str) -> None:
    with pytest.raises(ai.InvalidRequest) as caught:
        make()
    assert value in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ai.Batching(max_size=2.0),
        lambda: ai.Batching(max_size=True),
        lambda: ai.Batching(max_delay_s="1"),
        lambda: ai.Log(access=1),
        lambda: ai.Server(port="8000"),
        lambda: ai.Server(host=None),
        lambda: ai.Server(limits={"max_body_bytes": 1}),
        lambda: ai.Server(log=3),
        lambda: ai.Server("127.0.0.1", 0, 4),
    ],
)
def test_a_wrong_type_is_a_type_error(make: Any) -> None:
    with pytest.raises(TypeError):
        make()


class RuntimeEnum:
    """Like an enumerator of onnxruntime: it has a name, and str() shows the enumeration's too."""

    name = "ORT_ENABLE_BASIC"

    def __str__(self) -> str:
        return "GraphOptimizationLevel.ORT_ENABLE_BASIC"


def test_session_options_are_split_and_written_as_text() -> None:
    options = make_model_options(
        "m",
        "m.onnx",
        session_options={
            "intra_op_num_threads": 2,
            "enable_mem_pattern": False,
            "graph_optimization_level": RuntimeEnum(),
            "session.intra_op.allow_spinning": True,
        },
    )
    assert options.session_attributes == [
        ("intra_op_num_threads", "2"),
        ("enable_mem_pattern", "0"),
        ("graph_optimization_level", "ORT_ENABLE_BASIC"),
    ]
    assert options.session_config_entries == [("session.intra_op.allow_spinning", "1")]


@pytest.mark.parametrize(
    ("providers", "provider_options", "expected"),
    [
        (["A", "B"], None, [("A", []), ("B", [])]),
        ([("A", {"device_id": 1, "fast": True}), "B"], None, [("A", [("device_id", "1"), ("fast", "1")]), ("B", [])]),
        (["A", "B"], [{"x": "y"}, {}], [("A", [("x", "y")]), ("B", [])]),
        (None, None, []),
    ],
)
def test_providers_as_onnxruntime_takes_them(providers: Any, provider_options: Any, expected: Any) -> None:
    options = make_model_options("m", "m.onnx", providers=providers, provider_options=provider_options)
    assert options.providers == expected


@pytest.mark.parametrize(
    ("providers", "provider_options", "kind"),
    [
        ("CPUExecutionProvider", None, TypeError),
        ([1], None, TypeError),
        ([("A", "B")], None, TypeError),
        (["A"], [{}, {}], ai.InvalidRequest),
        ([("A", {"x": 1})], [{"y": 2}], ai.InvalidRequest),
    ],
)
def test_providers_that_make_no_sense(providers: Any, provider_options: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        make_model_options("m", "m.onnx", providers=providers, provider_options=provider_options)


@pytest.mark.parametrize(
    ("batching", "choice", "rows", "delay_s"),
    [
        (ai.AUTO, "automatic", 32, 0.0),
        (None, "off", 32, 0.0),
        (ai.Batching(max_size=8, max_delay_s=0.25), "on", 8, 0.25),
        (ai.Batching(max_size=1), "off", 1, 0.0),
    ],
)
def test_batching_reaches_the_core(batching: Any, choice: str, rows: int, delay_s: float) -> None:
    core = make_model_options("m", "m.onnx", batching=batching).batching
    assert (core.choice.name, core.max_rows, core.max_delay_s) == (choice, rows, delay_s)
