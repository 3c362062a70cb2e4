"""Strings are bytes with a length: a NUL ends nothing, and text that is no UTF-8 never gets into JSON."""

import json

import pytest
import wire
from servers import Served

TEXTS = [
    "a\0b",
    "",
    "é",
    "\U0001f600",
    "\0",
    "\0\0",
    "a" * 1000,
    '"\\/\b\f\n\r\t',
    "\x01\x1f\x7f",
    "\u2028",
    "\ufeff",
    "\uffff",
]


def test_text_comes_back(served: Served) -> None:
    answer = served.infer("str", [wire.tensor("X", TEXTS, "BYTES")])
    assert answer.json()["outputs"] == [{"name": "Y", "shape": [len(TEXTS)], "datatype": "BYTES", "data": TEXTS}]
    answer = served.infer("str", [wire.tensor("X", TEXTS, "BYTES")], parameters={"binary_data_output": True})
    assert answer.outputs()["Y"].tolist() == [text.encode() for text in TEXTS]


def test_text_as_utf_8_and_as_escapes(served: Served) -> None:
    for ascii_only in (True, False):
        text = json.dumps({"inputs": [wire.tensor("X", TEXTS, "BYTES")]}, ensure_ascii=ascii_only)
        assert served.ask(wire.infer_text("str", text)).json()["outputs"][0]["data"] == TEXTS


@pytest.mark.parametrize("binary", [False, True])
def test_a_string_of_two_mebibytes(binary: bool, served: Served) -> None:
    long = "é0" * 700_000
    tensor = wire.tensor("X", ["a", long, "", long, "b"], "BYTES")
    answer = served.infer("str", [tensor], parameters={"binary_data_output": binary})
    assert answer.outputs()["Y"].tolist() == [b"a", long.encode(), b"", long.encode(), b"b"]


def test_a_long_string_full_of_escapes(served: Served) -> None:
    long = '"\n\0é' * 100_000
    answer = served.infer("str", [wire.tensor("X", [long], "BYTES")])
    assert answer.json()["outputs"][0]["data"] == [long]


def test_many_short_strings(served: Served) -> None:
    texts = [[str(i) for i in range(30_000)]]
    assert served.infer("id_bytes", [wire.tensor("X", texts, "BYTES")]).json()["outputs"][0]["data"] == texts[0]


@pytest.mark.parametrize(
    "element",
    [
        b"\xff\xfe",
        b"\x80",
        b"\xc3",
        b"a\xc3",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\xe2\x82",
        bytes(range(256)),
    ],
)
def test_bytes_that_are_no_text(element: bytes, served: Served) -> None:
    """Exact in binary; as JSON an error that names the output, the element and the way out."""
    elements = [b"good", element, b""]
    packed = wire.pack_bytes(elements)
    tensor = wire.binary_tensor("X", packed, [3], "BYTES")
    answer = served.infer("str", [tensor], packed)
    assert answer.status == 400
    assert "'Y'" in answer.error()
    assert "element 1" in answer.error()
    assert "binary_data" in answer.error()
    answer = served.infer("str", [tensor], packed, parameters={"binary_data_output": True})
    assert answer.outputs()["Y"].tolist() == elements


@pytest.mark.parametrize(
    "escape",
    ["\\ud800", "\\udfff", "\\ud800x", "\\ud800\\u0041", "\\udc00\\ud800", "\\ud83d\\ud83d", "\\ud83d", "\\uD8"],
)
def test_half_a_surrogate_pair(escape: str, served: Served) -> None:
    text = f'{{"inputs":[{{"name":"X","shape":[1],"datatype":"BYTES","data":["{escape}"]}}]}}'
    answer = served.ask(wire.infer_text("str", text))
    assert answer.status == 400
    answer.error()


@pytest.mark.parametrize("item", ["1", "true", "null", "1.5", "{}", '["a"]'])
def test_what_is_no_string(item: str, served: Served) -> None:
    text = f'{{"inputs":[{{"name":"X","shape":[1],"datatype":"BYTES","data":[{item}]}}]}}'
    answer = served.ask(wire.infer_text("str", text))
    assert answer.status == 400
    assert "X" in answer.error()


def test_strings_in_rows(served: Served) -> None:
    rows = [["a", "b", ""], ["é", "\0", "xyz"]]
    flat = [text for row in rows for text in row]
    for data in (rows, flat):
        answer = served.infer("id_bytes", [wire.tensor("X", data, "BYTES", [2, 3])])
        assert answer.json()["outputs"][0]["data"] == flat
        assert answer.json()["outputs"][0]["shape"] == [2, 3]
