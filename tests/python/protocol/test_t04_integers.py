"""64-bit integers digit by digit: one double on the way loses the low bits."""

import re

import pytest
import wire
from servers import Served

EXACT = {
    "INT64": ["9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808", "0", "-1"],
    "UINT64": ["9007199254740993", "18446744073709551615", "18446744073709551614", "9223372036854775808", "0"],
}
RANGES = {
    "INT8": (-128, 127),
    "UINT8": (0, 255),
    "INT16": (-32768, 32767),
    "UINT16": (0, 65535),
    "INT32": (-(2**31), 2**31 - 1),
    "UINT32": (0, 2**32 - 1),
    "INT64": (-(2**63), 2**63 - 1),
    "UINT64": (0, 2**64 - 1),
}


def body(datatype: str, *texts: str) -> str:
    inner = ",".join(texts)
    return f'{{"inputs":[{{"name":"X","shape":[1,{len(texts)}],"datatype":"{datatype}","data":[{inner}]}}]}}'


def digits(answer: wire.Answer) -> list[str]:
    assert answer.status == 200, answer.body
    found = re.search(rb'"data":\[([^\]]*)\]', answer.body)
    assert found
    return found[1].decode().split(",")


@pytest.mark.parametrize("datatype", EXACT)
def test_the_same_digits_come_back(datatype: str, served: Served) -> None:
    answer = served.ask(wire.infer_text(f"id_{datatype.lower()}", body(datatype, *EXACT[datatype])))
    assert digits(answer) == EXACT[datatype]


@pytest.mark.parametrize("datatype", RANGES)
def test_the_ends_of_each_range(datatype: str, served: Served) -> None:
    low, high = RANGES[datatype]
    model = f"id_{datatype.lower()}"
    assert digits(served.ask(wire.infer_text(model, body(datatype, str(low), str(high))))) == [str(low), str(high)]
    for number in (low - 1, high + 1, 2**64, -(2**64), 2**65 + 1, 10**40, -(10**40)):
        answer = served.ask(wire.infer_text(model, body(datatype, str(number))))
        assert answer.status == 400
        assert datatype in answer.error()
        assert "X" in answer.error()


@pytest.mark.parametrize(
    ("form", "number"),
    [
        ("1e2", "100"),
        ("1E+2", "100"),
        ("4.0", "4"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("0e5", "0"),
        ("120e-1", "12"),
        ("1.2e1", "12"),
        ("100e-2", "1"),
        ("0.01e2", "1"),
        ("1.000", "1"),
    ],
)
def test_integers_in_another_form(form: str, number: str, served: Served) -> None:
    for datatype in RANGES:
        answer = served.ask(wire.infer_text(f"id_{datatype.lower()}", body(datatype, form)))
        assert digits(answer) == [number]


@pytest.mark.parametrize(
    ("form", "number"),
    [
        ("9007199254740993.0", "9007199254740993"),
        ("9.223372036854775807e18", "9223372036854775807"),
        ("92233720368547758070e-1", "9223372036854775807"),
        ("9223372036854775807000e-3", "9223372036854775807"),
    ],
)
def test_large_integers_in_another_form(form: str, number: str, served: Served) -> None:
    for datatype in ("INT64", "UINT64"):
        assert digits(served.ask(wire.infer_text(f"id_{datatype.lower()}", body(datatype, form)))) == [number]


@pytest.mark.parametrize("form", ["1.5", "0.1", "1e-1", "1e-400", "1.0000000000000000000000001", "-0.5", "15e-1"])
def test_fractions_are_no_integers(form: str, served: Served) -> None:
    for datatype in RANGES:
        answer = served.ask(wire.infer_text(f"id_{datatype.lower()}", body(datatype, form)))
        assert answer.status == 400
        assert "X" in answer.error()


@pytest.mark.parametrize("form", ["1e400", "1e99999999999999999999", "-1e400", "1" + "0" * 5000])
def test_enormous_numbers(form: str, served: Served) -> None:
    for datatype in ("UINT8", "INT64", "UINT64"):
        assert served.ask(wire.infer_text(f"id_{datatype.lower()}", body(datatype, form))).status == 400


def test_minus_one_as_unsigned(served: Served) -> None:
    for datatype in ("UINT8", "UINT16", "UINT32", "UINT64"):
        assert served.ask(wire.infer_text(f"id_{datatype.lower()}", body(datatype, "-1"))).status == 400


@pytest.mark.parametrize("id", ["9007199254740993", "18446744073709551616", "0", "-1", "é", "a\0b", '"', "😀" * 100])
def test_the_id_is_a_text_that_comes_back(id: str, served: Served) -> None:
    answer = served.infer("id_int64", [wire.tensor("X", [[1]], "INT64")], id=id)
    assert answer.json()["id"] == id


def test_without_an_id_there_is_none(served: Served) -> None:
    for given in (None, ""):
        assert "id" not in served.infer("id_int64", [wire.tensor("X", [[1]], "INT64")], id=given).json()


@pytest.mark.parametrize(
    "value", ["9007199254740993", "9223372036854775807", "-9223372036854775808", "true", "1.5", '"x"']
)
def test_parameters_are_taken(value: str, served: Served) -> None:
    text = body("INT64", "1")[:-1] + f',"parameters":{{"mine":{value}}}}}'
    assert digits(served.ask(wire.infer_text("id_int64", text))) == ["1"]


@pytest.mark.parametrize("model_version", ["1", None])
def test_what_an_answer_says_of_the_model(model_version: str | None, served: Served) -> None:
    version = None if model_version is None else int(model_version)
    answer = served.infer("two", [wire.tensor("X", [[1, 2]])], version=version).json()
    assert answer["model_name"] == "two"
    assert answer["model_version"] == (model_version or "2")
