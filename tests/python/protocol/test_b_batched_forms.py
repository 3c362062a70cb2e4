"""Requests that share a run in every form of data: empty ones add no rows, and refused ones harm nobody."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire
from servers import Served

DATATYPES = ["bool", "uint8", "int64", "fp16", "fp32", "fp64", "bytes"]


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Served]:
    batching = {"max_size": 16, "max_delay_s": 0.05}
    served = [{"name": name, "model": str(models / f"id_{name}.onnx"), "batching": batching} for name in DATATYPES]
    with Served(served) as server:
        yield server
        assert server.stop() == ""


def values(datatype: str, number: int, rows: int) -> list[list[object]]:
    if datatype == "bool":
        return [[bool((number + row) % 2), True] for row in range(rows)]
    if datatype == "bytes":
        return [[chr(97 + number) * row, "é\0"] for row in range(rows)]
    return [[number, row] for row in range(rows)]


def data_of(answer: wire.Answer) -> tuple[list[int], list[object]]:
    (output,) = answer.json()["outputs"]
    return output["shape"], output["data"]


def ask(datatype: str, x: list[list[object]], *, flat: bool = False) -> bytes:
    data = [item for row in x for item in row] if flat else x
    return wire.infer(datatype, [wire.tensor("X", data, datatype.upper(), [len(x), 2])])


@pytest.mark.parametrize("datatype", DATATYPES)
def test_empty_flat_and_nested_requests_share_a_run(datatype: str, server: Served) -> None:
    rows = [0, 3, 0, 1, 2, 0]
    before = server.executions(datatype)
    sent = [values(datatype, number, count) for number, count in enumerate(rows)]
    with server.connect() as connection:
        connection.send(b"".join(ask(datatype, x, flat=n % 2 == 1) for n, x in enumerate(sent)))
        for x in sent:
            assert data_of(connection.answer()) == ([len(x), 2], [item for row in x for item in row])
    assert server.executions(datatype) - before < len(rows), "some of them ran together"


@pytest.mark.parametrize(
    "bad",
    [
        "[[1],[2,3,4]]",
        "[1,[2,3],4]",
        "[[1,2,3,4]]",
        "[1,2,3]",
        "[1,2,3,4,5]",
        "[]",
        "[1,2,3,300]",
        "[1,2,3,-1]",
        "[1,2,3,null]",
    ],
)
def test_a_member_whose_data_is_refused_harms_nobody(bad: str, server: Served) -> None:
    body = {"inputs": [{"name": "X", "shape": [2, 2], "datatype": "UINT8", "data": "@"}]}
    refused = wire.infer_text("uint8", json.dumps(body).replace('"@"', bad))
    sent = [values("uint8", number, 2) for number in range(4)]
    with server.connect() as connection:
        connection.send(b"".join(ask("uint8", x) + refused for x in sent))
        for x in sent:
            assert data_of(connection.answer()) == ([2, 2], [item for row in x for item in row])
            answer = connection.answer()
            assert answer.status == 400
            assert "X" in answer.error()
