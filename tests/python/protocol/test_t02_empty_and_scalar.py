"""Tensors without elements and scalars are tensors: listed, described and served like all others."""

from typing import Any

import pytest
import wire
from servers import Served

FORMS = [(False, False), (False, True), (True, False), (True, True)]


def ask(
    served: Served, model: str, values: Any, shape: list[int], forms: tuple[bool, bool], datatype: str = "FP32"
) -> wire.Answer:
    """X with these values to the model, JSON or binary in and out."""
    import numpy as np

    binary_in, binary_out = forms
    parameters = {"binary_data_output": binary_out}
    if not binary_in:
        return served.infer(model, [wire.tensor("X", values, datatype, shape)], parameters=parameters)
    packed = b"" if datatype == "BYTES" else np.array(values, wire.dtype_of(datatype)).tobytes()
    return served.infer(model, [wire.binary_tensor("X", packed, shape, datatype)], packed, parameters=parameters)


def described(answer: wire.Answer, name: str) -> dict[str, Any]:
    body, _ = wire.split_body(answer)
    (output,) = [output for output in body["outputs"] if output["name"] == name]
    return dict(output)


@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("shape", [[0, 2], [2, 0], [0, 0]])
def test_no_rows_or_no_columns(shape: list[int], forms: tuple[bool, bool], served: Served) -> None:
    answer = ask(served, "reveal", [], shape, forms)
    outputs = answer.outputs()
    assert outputs["Y"].shape == tuple(shape)
    assert outputs["BS"].shape == outputs["LEN"].shape == (shape[0], 1)
    assert outputs["BS"].tolist() == [[shape[0]]] * shape[0]
    assert outputs["LEN"].tolist() == [[shape[1]]] * shape[0]
    y = described(answer, "Y")
    assert y.get("data", []) == []
    assert y.get("parameters", {"binary_data_size": 0}) == {"binary_data_size": 0}
    assert ("data" in y) != forms[1]


@pytest.mark.parametrize("data", [[], [[], []]])
def test_empty_data_flat_and_nested(data: Any, served: Served) -> None:
    answer = served.infer("reveal", [wire.tensor("X", data, shape=[2, 0])])
    assert answer.outputs()["Y"].shape == (2, 0)


@pytest.mark.parametrize("data", [[[]], [[], [], []], [[[], []]], [0], [[0], []], [None]])
def test_empty_data_of_another_shape(data: Any, served: Served) -> None:
    answer = served.infer("reveal", [wire.tensor("X", data, shape=[2, 0])])
    assert answer.status == 400
    assert "X" in answer.error()


@pytest.mark.parametrize(
    "datatype",
    [
        "BOOL",
        "UINT8",
        "UINT16",
        "UINT32",
        "UINT64",
        "INT8",
        "INT16",
        "INT32",
        "INT64",
        "FP16",
        "FP32",
        "FP64",
        "BF16",
        "BYTES",
    ],
)
@pytest.mark.parametrize("forms", FORMS)
def test_empty_tensors_of_every_type(datatype: str, forms: tuple[bool, bool], served: Served) -> None:
    for shape in ([0, 3], [3, 0]):
        answer = ask(served, f"id_{datatype.lower()}", [], shape, forms, datatype)
        assert answer.status == 200, answer.body
        y = described(answer, "Y")
        assert y["shape"] == shape
        assert y["datatype"] == datatype


@pytest.mark.parametrize("binary", [False, True])
def test_an_output_that_comes_out_empty(binary: bool, served: Served) -> None:
    parameters = {"binary_data_output": binary}
    answer = served.infer("nz", [wire.tensor("X", [0, 0, 0])], parameters=parameters)
    assert answer.outputs()["Y"].shape == (1, 0)
    answer = served.infer("nz", [wire.tensor("X", [0, 5, 0])], parameters=parameters)
    assert answer.outputs()["Y"].tolist() == [[1]]


@pytest.mark.parametrize("forms", FORMS)
def test_no_strings(forms: tuple[bool, bool], served: Served) -> None:
    assert ask(served, "str", [], [0], forms, "BYTES").outputs()["Y"].shape == (0,)


@pytest.mark.parametrize("data", [2.5, [2.5]])
@pytest.mark.parametrize("binary", [False, True])
def test_a_scalar(data: Any, binary: bool, served: Served) -> None:
    answer = served.infer("scalar", [wire.tensor("X", data, shape=[])], parameters={"binary_data_output": binary})
    assert answer.outputs()["Y"].tolist() == 5
    assert described(answer, "Y")["shape"] == []


def test_a_scalar_in_binary(served: Served) -> None:
    x = wire.f32(2.5)
    answer = served.infer("scalar", [wire.binary_tensor("X", x, [])], x, parameters={"binary_data_output": True})
    assert answer.outputs()["Y"].tolist() == 5


@pytest.mark.parametrize("data", [[], [1, 2], [[2.5]], [[[2.5]]], None, "2.5", [None], [[]]])
def test_data_that_is_no_scalar(data: Any, served: Served) -> None:
    answer = served.infer("scalar", [wire.tensor("X", data, shape=[])])
    assert answer.status == 400
    answer.error()


def test_a_scalar_of_another_shape(served: Served) -> None:
    """The model says rank 0; the runtime would take [1] as well."""
    assert served.infer("scalar", [wire.tensor("X", [2.5])]).status == 400
    assert served.infer("scalar", [wire.tensor("X", [[2.5]])]).status == 400


@pytest.mark.parametrize("forms", FORMS)
def test_an_output_that_is_a_scalar(forms: tuple[bool, bool], served: Served) -> None:
    answer = ask(served, "sumall", [[1, 1], [1, 1], [1, 1]], [3, 2], forms)
    assert answer.outputs()["Y"].tolist() == 6
    assert answer.outputs()["Y"].shape == ()
    assert ask(served, "sumall", [], [0, 2], forms).outputs()["Y"].tolist() == 0


def test_metadata_of_scalars(served: Served) -> None:
    metadata = served.get("/v2/models/scalar").json()
    assert metadata["inputs"] == [{"name": "X", "datatype": "FP32", "shape": []}]
    assert metadata["outputs"] == [{"name": "Y", "datatype": "FP32", "shape": []}]
    assert served.get("/v2/models/sumall").json()["outputs"] == [{"name": "Y", "datatype": "FP32", "shape": []}]


def test_an_empty_request_beside_others(served: Served) -> None:
    """In a pipeline, where requests are joined: none disturbs another."""
    shapes = [[0, 2], [3, 2], [0, 2], [1, 2], [2, 2], [0, 2]]
    requests = []
    for number, (rows, columns) in enumerate(shapes):
        x = [[number + row / 8.0] * columns for row in range(rows)]
        requests.append((wire.infer("reveal", [wire.tensor("X", x, shape=[rows, columns])]), x))
    with served.connect() as connection:
        for _ in range(20):
            connection.send(b"".join(data for data, _ in requests))
            for _, x in requests:
                outputs = connection.answer().outputs()
                assert outputs["Y"].tolist() == x
                assert outputs["BS"].shape == (len(x), 1)
