"""`data` flat or nested means the same; anything else, and any value out of range, is refused and never converted."""

import json
from typing import Any

import pytest
import wire
from servers import Served


def ask(served: Served, datatype: str, shape: list[int], data: str) -> wire.Answer:
    text = f'{{"inputs":[{{"name":"X","shape":{json.dumps(shape)},"datatype":"{datatype}","data":{data}}}]}}'
    model = "any_rank" if datatype == "FP32" and len(shape) != 2 else f"id_{datatype.lower()}"
    return served.ask(wire.infer_text(model, text))


@pytest.mark.parametrize("data", ["[1,2,3,4]", "[[1,2],[3,4]]", "[ [ 1 , 2 ] , [ 3 , 4 ] ]"])
@pytest.mark.parametrize("datatype", ["FP32", "INT8", "UINT64", "FP16", "FP64"])
def test_flat_and_nested_are_equal(data: str, datatype: str, served: Served) -> None:
    assert ask(served, datatype, [2, 2], data).outputs()["Y"].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "data",
    [
        "[[1,2,3,4]]",
        "[[1],[2,3,4]]",
        "[1,[2,3],4]",
        "[[1,2],3,4]",
        "[1,2,[3,4]]",
        "[[1,2],[3]]",
        "[[1,2],[3,4,5]]",
        "[[1,2]]",
        "[[1,2],[3,4],[5,6]]",
        "[[[1,2],[3,4]]]",
        "[[[1],[2]],[[3],[4]]]",
        "[]",
        "[[]]",
        "[[],[]]",
        "[1]",
        "[1,2,3]",
        "[1,2,3,4,5]",
        "[[1,2],[3,4],[]]",
        "[[1,2],[],[3,4]]",
        "[[],[1,2,3,4]]",
        "[[1,2,3],[4]]",
        "1",
        "[[1,2],[3,[4]]]",
        "[[1,[2]],[3,4]]",
    ],
)
def test_other_nestings_of_two_by_two(data: str, served: Served) -> None:
    for datatype in ("FP32", "INT32"):
        answer = ask(served, datatype, [2, 2], data)
        assert answer.status == 400, answer.body
        assert "X" in answer.error()
        assert "data" in answer.error()


@pytest.mark.parametrize("data", ["[1,2,3,4,5,6]", "[[[1],[2],[3]],[[4],[5],[6]]]"])
def test_three_dimensions(data: str, served: Served) -> None:
    assert ask(served, "FP32", [2, 3, 1], data).outputs()["Y"].tolist() == [[[1], [2], [3]], [[4], [5], [6]]]


@pytest.mark.parametrize(
    "data", ["[[1,2,3],[4,5,6]]", "[[[1,2,3]],[[4,5,6]]]", "[[1],[2],[3],[4],[5],[6]]", "[[1,2,3,4,5,6]]"]
)
def test_three_dimensions_nested_otherwise(data: str, served: Served) -> None:
    assert ask(served, "FP32", [2, 3, 1], data).status == 400


def test_one_dimension(served: Served) -> None:
    assert ask(served, "FP32", [3], "[1,2,3]").outputs()["Y"].tolist() == [1, 2, 3]
    for data in ("[[1,2,3]]", "[[1],[2],[3]]", "1", "[1,2]", "[1,2,3,4]"):
        assert ask(served, "FP32", [3], data).status == 400


@pytest.mark.parametrize("first", ["data", "shape", "datatype", "name"])
def test_the_data_before_its_shape_and_type(first: str, served: Served) -> None:
    """The order of keys means nothing, for right and for wrong data."""
    for data, status in (
        ("[[1,2],[3,4]]", 200),
        ("[1,2,3,4]", 200),
        ("[[1],[2,3,4]]", 400),
        ("[[1,2],[3,300]]", 400),
        ("[1,null,3,4]", 400),
        ('[1,"2",3,4]', 400),
        ("[1,true,3,4]", 400),
        ("[1,{},3,4]", 400),
    ):
        fields = {"name": '"X"', "shape": "[2,2]", "datatype": '"UINT8"', "data": data}
        keys = [first, *(key for key in ("data", "shape", "datatype", "name") if key != first)]
        text = '{"inputs":[{' + ",".join(f'"{key}":{fields[key]}' for key in keys) + "}]}"
        answer = served.ask(wire.infer_text("id_uint8", text))
        assert answer.status == status, (data, answer.body)
        if status == 200:
            assert answer.outputs()["Y"].tolist() == [[1, 2], [3, 4]]


WRONG = {
    "UINT8": ["300", "256", "-1", "1.5", '"1"', "true", "null", "{}"],
    "INT32": ["2147483648", "-2147483649", "0.5", '"1"', "false", "null"],
    "BOOL": ["0", "1", "2", "-1", '"true"', "null", "1.0", "0.0", "{}"],
    "FP32": ['"1"', "null", "1e39", "true", '"NaN"', "{}", '""'],
    "FP64": ['"1"', "null", "1e309", "false"],
    "FP16": ['"1"', "null", "65520", "true"],
    "BF16": ['"1"', "null", "3.4e38", "true"],
    "BYTES": ["1", "true", "null", "{}"],
}


@pytest.mark.parametrize(("datatype", "item"), [(datatype, item) for datatype in WRONG for item in WRONG[datatype]])
def test_a_value_of_another_kind_or_range(datatype: str, item: str, served: Served) -> None:
    for data in (f"[{item}]", f"[[{item}]]"):
        answer = ask(served, datatype, [1, 1], data)
        assert answer.status == 400, answer.body
        assert "X" in answer.error()
        assert "data" in answer.error()


def test_booleans(served: Served) -> None:
    answer = ask(served, "BOOL", [1, 3], "[true,false,true]")
    assert answer.json()["outputs"][0]["data"] == [True, False, True]


@pytest.mark.parametrize("count", [0, 3, 5, 100])
def test_the_error_says_how_many_values_there_should_be(count: int, served: Served) -> None:
    answer = ask(served, "FP32", [2, 2], json.dumps([1.5] * count))
    assert answer.status == 400
    assert "4" in answer.error()


@pytest.mark.parametrize("count", [1, 1000, 20_000, 300_000])
def test_large_json_tensors(count: int, served: Served) -> None:
    """Small ones are parsed where they arrive, large ones elsewhere: both alike."""
    values: list[Any] = [i % 251 for i in range(count)]
    for datatype in ("FP32", "UINT8"):
        answer = ask(served, datatype, [1, count], json.dumps(values))
        assert answer.json()["outputs"][0]["data"] == values
    values[-1] = 256
    assert ask(served, "UINT8", [1, count], json.dumps(values)).status == 400
