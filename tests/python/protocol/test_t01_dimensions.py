"""Dimensions that are negative, enormous or overflow when multiplied: refused before anything is allocated."""

import json
from typing import Any

import pytest
import wire
from servers import Served

HUGE = [
    [4294967296, 4294967296],
    [2305843009213693952, 2],
    [2305843009213693952, 8],
    [4611686018427387904, 4],
    [9223372036854775807, 1],
    [1, 9223372036854775807],
    [9223372036854775807, 9223372036854775807],
    [3037000500, 3037000500],
    [6148914691236517206, 3],
    [2147483648, 2147483648],
    [1099511627776, 1],
    [65536, 65536],
]
GROWTH = 10 << 20


def forms(shape: Any) -> list[bytes]:
    """The shape with JSON data and with a binary section, both empty and with a few values."""
    base = {"name": "X", "shape": shape, "datatype": "FP32"}
    requests = [wire.infer("id_fp32", [{**base, "data": data}]) for data in ([], [1.5], [1, 2, 3, 4], [[1, 2], [3, 4]])]
    for section in (b"", wire.f32(1.5), wire.f32(1, 2, 3, 4)):
        sized = {**base, "parameters": {"binary_data_size": len(section)}}
        requests.append(wire.infer("id_fp32", [sized], section))
    return requests


def refused(served: Served, requests: list[bytes]) -> None:
    before = served.resident()
    for data in requests:
        answer = served.ask(data)
        assert answer.status == 400, answer.body
        assert "shape" in answer.error() or "X" in answer.error()
    assert served.resident() - before < GROWTH


@pytest.mark.parametrize(
    "shape",
    [
        [-1, 4],
        [4, -1],
        [-1],
        [-2, -2],
        [-1, -1],
        [-1, -4],
        [0, -1],
        [-9223372036854775808, 1],
        [-4294967296, 4294967296],
    ],
)
def test_negative_dimensions(shape: list[int], served: Served) -> None:
    refused(served, forms(shape))


@pytest.mark.parametrize("shape", HUGE)
def test_huge_dimensions(shape: list[int], served: Served) -> None:
    refused(served, forms(shape))


@pytest.mark.parametrize("shape", HUGE)
@pytest.mark.parametrize("datatype", ["BOOL", "UINT8", "INT16", "FP16", "FP64", "INT64", "BYTES", "BF16"])
def test_huge_dimensions_of_every_width(shape: list[int], datatype: str, served: Served) -> None:
    base = {"name": "X", "shape": shape, "datatype": datatype}
    sized = {**base, "parameters": {"binary_data_size": 0}}
    model = f"id_{datatype.lower()}"
    refused(served, [wire.infer(model, [{**base, "data": []}]), wire.infer(model, [sized], b"")])


@pytest.mark.parametrize("dim", ["9223372036854775808", "18446744073709551616", "1e19", "1e400", "-1e400", "1e-400"])
def test_dimensions_beyond_64_bits(dim: str, served: Served) -> None:
    text = f'{{"inputs":[{{"name":"X","shape":[{dim},1],"datatype":"FP32","data":[1]}}]}}'
    refused(
        served, [wire.infer_text("id_fp32", text), wire.infer_text("id_fp32", text.replace(f"{dim},1", f"1,{dim}"))]
    )


@pytest.mark.parametrize("shape", [[0, 9223372036854775807], [9223372036854775807, 0], [0, 4294967296, 4294967296]])
def test_nothing_times_very_much(shape: list[int], served: Served) -> None:
    """Empty, or refused; never an allocation."""
    before = served.resident()
    for model in ("any_rank", "id_fp32", "echo"):
        name = "INPUT0" if model == "echo" else "X"
        base = {"name": name, "shape": shape, "datatype": "FP32"}
        for data in (
            wire.infer(model, [{**base, "data": []}]),
            wire.infer(model, [{**base, "parameters": {"binary_data_size": 0}}], b""),
        ):
            answer = served.ask(data)
            assert answer.status in (200, 400)
            if answer.status == 200:
                assert next(iter(answer.json()["outputs"]))["shape"] == shape
    assert served.resident() - before < GROWTH


@pytest.mark.parametrize("rank", [1, 3, 65, 1000, 100_000])
def test_a_rank_that_does_not_fit(rank: int, served: Served) -> None:
    refused(served, forms([1] * rank))


@pytest.mark.parametrize("form", ["4.0", "4e0", "0.4e1", "40e-1", "4.000000000000000000000"])
def test_dimensions_in_another_form(form: str, served: Served) -> None:
    """4.0 is the integer 4, as everywhere."""
    text = json.dumps({"inputs": [wire.tensor("A", [[1, 2, 3, 4]]), wire.tensor("B", [[10, 20, 30, 40]])]})
    assert text.count("[1, 4]") == 2
    answer = served.ask(wire.infer_text("add", text.replace("[1, 4]", f"[1, {form}]")))
    assert answer.outputs()["Y"].tolist() == [[11, 22, 33, 44]]


@pytest.mark.parametrize("form", ["4.5", "4.0000000000000000000001", "4e-1", "399e-2"])
def test_dimensions_that_are_no_integers(form: str, served: Served) -> None:
    text = json.dumps({"inputs": [wire.tensor("A", [[1, 2, 3, 4]]), wire.tensor("B", [[10, 20, 30, 40]])]})
    answer = served.ask(wire.infer_text("add", text.replace("[1, 4]", f"[1, {form}]")))
    assert answer.status == 400
    assert "shape[1]" in answer.error()


@pytest.mark.parametrize("shape", [[2, 2], [4], [], [1, 1, 4], [1, 3], [1, 5], [0, 4], [2, 4]])
def test_a_shape_that_the_data_contradicts(shape: list[int], served: Served) -> None:
    a = {"name": "A", "shape": shape, "datatype": "FP32", "data": [1, 2, 3, 4]}
    answer = served.infer("add", [a, wire.tensor("B", [[10, 20, 30, 40]])])
    assert answer.status == 400
    assert "A" in answer.error()


def test_more_rows_than_one_run_takes(served: Served) -> None:
    rows = 33
    x = [[1.5, 2.5]] * rows
    assert served.infer("two_outputs", [wire.tensor("X", x[:32])]).outputs()["Y"].tolist() == [[3, 5]] * 32
    answer = served.infer("two_outputs", [wire.tensor("X", x)])
    assert answer.status == 400
    assert "33" in answer.error()
    assert "32" in answer.error()


def test_very_many_strings_that_are_empty(served: Served) -> None:
    """A shape that promises elements which take no bytes in JSON must not be believed."""
    before = served.resident()
    base = {"name": "X", "shape": [1, 1 << 40], "datatype": "BYTES"}
    for data in (
        wire.infer("id_bytes", [{**base, "data": [""]}]),
        wire.infer("id_bytes", [wire.binary_tensor("X", b"\0" * 4, [1, 1 << 40], "BYTES")], b"\0" * 4),
    ):
        assert served.ask(data).status == 400
    assert served.resident() - before < GROWTH
