"""Names of tensors that repeat, are missing or do not exist are errors that name them, never quietly ignored."""

from typing import Any

import pytest
import wire
from servers import Served

A, B = wire.tensor("A", [[1, 2, 3, 4]]), wire.tensor("B", [[10, 20, 30, 40]])
C = wire.tensor("C", [[0, 0, 0, 0]])


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


def rename(tensor: dict[str, Any], name: str) -> dict[str, Any]:
    return {**tensor, "name": name}


@pytest.mark.parametrize(
    ("inputs", "culprit"),
    [
        ([], "A"),
        ([A], "B"),
        ([B], "A"),
        ([A, A], "A"),
        ([A, B, A], "A"),
        ([A, B, B], "B"),
        ([A, B, C], "C"),
        ([C, A, B], "C"),
        ([C], "C"),
        ([rename(A, "a"), B], "a"),
        ([A, rename(B, "b")], "b"),
        ([A, rename(B, "B ")], "B "),
        ([A, rename(B, " B")], " B"),
        ([A, rename(B, "")], ""),
        ([A, rename(B, "B\0")], "B"),
        ([A, rename(B, "Y")], "Y"),
        ([A, rename(B, "\u0392")], "\u0392"),  # looks the same
    ],
)
def test_inputs(inputs: Any, culprit: str, served: Served) -> None:
    answer = served.infer("add", inputs)
    assert answer.status == 400
    assert culprit in answer.error()


@pytest.mark.parametrize(
    "names",
    [["nope"], ["Y", "nope"], ["nope", "Y"], ["y"], ["Y "], [""], ["X"], ["Y", "Y"], ["Y", "Z", "Y"], ["Y\0"]],
)
def test_outputs(names: list[str], served: Served) -> None:
    answer = served.infer("two_outputs", [wire.tensor("X", [[1, 2]])], outputs=named(*names))
    assert answer.status == 400
    assert any(name.rstrip("\0") in answer.error() for name in names)
    assert "output" in answer.error()


def test_a_failed_request_ran_nothing(served: Served) -> None:
    before = served.executions("two_outputs")
    for names in (["nope"], ["Y", "Y"]):
        served.infer("two_outputs", [wire.tensor("X", [[1, 2]])], outputs=named(*names))
    assert served.executions("two_outputs") == before


@pytest.mark.parametrize("names", [["Y"], ["Z"], ["Y", "Z"], ["Z", "Y"]])
@pytest.mark.parametrize("binary", [False, True])
def test_what_is_asked_for_comes_in_that_order(names: list[str], binary: bool, served: Served) -> None:
    answer = served.infer(
        "two_outputs",
        [wire.tensor("X", [[1, 2]])],
        outputs=named(*names),
        parameters={"binary_data_output": binary},
    )
    values = {"Y": [[2, 4]], "Z": [[2, 3]]}
    assert [(name, value.tolist()) for name, value in wire.read_outputs(answer)] == [(n, values[n]) for n in names]


@pytest.mark.parametrize("outputs", [None, []])
def test_without_names_all_come(outputs: Any, served: Served) -> None:
    answer = served.infer("two_outputs", [wire.tensor("X", [[1, 2]])], outputs=outputs)
    assert [name for name, _ in wire.read_outputs(answer)] == ["Y", "Z"]


def test_an_output_that_is_an_input(served: Served) -> None:
    answer = served.infer("pass_beside", [wire.tensor("X", [[1, 2]])], outputs=named("Y", "X"))
    assert [(name, v.tolist()) for name, v in wire.read_outputs(answer)] == [("Y", [[1, 2]]), ("X", [[1, 2]])]
    assert served.infer("pass", [wire.tensor("X", [[1, 2], [3, 4]])]).outputs()["X"].tolist() == [[1, 2], [3, 4]]


def test_what_is_given_for_the_wrong_input(served: Served) -> None:
    """Right names, with the datatype or the shape of another."""
    for tensor, word in (
        (wire.tensor("A", [[1, 2, 3, 4]], "FP64"), "FP64"),
        (wire.tensor("A", [[1, 2, 3, 4]], "INT32"), "INT32"),
        (wire.tensor("A", [1, 2, 3, 4]), "[4]"),
        (wire.tensor("A", [[1, 2, 3]]), "[1,3]"),
        (wire.tensor("A", [[[1, 2, 3, 4]]]), "[1,1,4]"),
        (wire.tensor("A", [[1, 2, 3, 4]] * 2), "N"),
    ):
        answer = served.infer("add", [tensor, B])
        assert answer.status == 400
        assert "'A'" in answer.error()
        assert word in answer.error().replace(" ", ""), answer.error()


def test_rows_that_would_broadcast(served: Served) -> None:
    """The runtime would add 1 row to 3 without a word."""
    answer = served.infer("add", [wire.tensor("A", [[1, 2, 3, 4]] * 3), B])
    assert answer.status == 400
    assert "3" in answer.error()
    assert "1" in answer.error()


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_an_input_that_may_be_left_out(rows: int, served: Served) -> None:
    """`K` has one element whatever the number of rows."""
    x = wire.tensor("X", [2.0] * rows)
    assert served.infer("kopt", [x]).outputs()["Y"].tolist() == [6] * rows
    assert served.infer("kopt", [x, wire.tensor("K", [10])]).outputs()["Y"].tolist() == [20] * rows
    assert served.infer("kopt", [wire.tensor("K", [10]), x]).outputs()["Y"].tolist() == [20] * rows
    answer = served.infer("kopt", [x, wire.tensor("K", [10, 10])])
    assert answer.status == 400
    assert "K" in answer.error()


def test_an_output_that_the_protocol_cannot_carry(served: Served) -> None:
    x = wire.tensor("X", [[0, 1, 0]])
    assert served.infer("zip_label", [x], outputs=named("label")).outputs()["label"].tolist() == [1]
    assert list(served.infer("zip_label", [x]).outputs()) == ["label"]
    answer = served.infer("zip_label", [x], outputs=named("Z"))
    assert answer.status == 400
    assert "Z" in answer.error()
    assert "sequence" in answer.error()
