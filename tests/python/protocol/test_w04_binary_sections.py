"""Binary tensors and the section they stand in must add up: sizes used as offsets unchecked mix up the tensors."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
import wire
from servers import Served

ONE, TEN = wire.f32(1, 2, 3, 4), wire.f32(10, 20, 30, 40)
SUM = [[11, 22, 33, 44]]
A_BINARY, B_BINARY = wire.binary_tensor("A", ONE, [1, 4]), wire.binary_tensor("B", TEN, [1, 4])
A_JSON, B_JSON = wire.tensor("A", [[1, 2, 3, 4]]), wire.tensor("B", [[10, 20, 30, 40]])
BINARY = {"parameters": {"binary_data": True}}


def refused(served: Served, data: bytes, *words: str) -> None:
    answer = served.ask(data)
    assert answer.status == 400, (answer.status, answer.body[:300])
    for word in words:
        assert word in answer.error(), answer.error()


def sized(tensor: dict[str, Any], size: Any) -> dict[str, Any]:
    return {**tensor, "parameters": {"binary_data_size": size}}


# ---- Inputs


@pytest.mark.parametrize(
    ("inputs", "section"),
    [
        ([A_BINARY, B_BINARY], ONE + TEN),
        ([B_BINARY, A_BINARY], TEN + ONE),
        ([A_BINARY, B_JSON], ONE),
        ([A_JSON, B_BINARY], TEN),
        ([B_JSON, A_BINARY], ONE),
        ([B_BINARY, A_JSON], TEN),
        ([A_JSON, B_JSON], b""),
    ],
)
def test_mixed_forms_and_orders(inputs: Any, section: bytes, served: Served) -> None:
    assert served.infer("add", inputs, section).outputs()["Y"].tolist() == SUM


def test_values_follow_the_order_of_the_json(served: Served) -> None:
    """`add` cannot tell its inputs apart; a difference can."""
    a, b = np.array([7, -7, 9], "<i4"), np.array([2, 2, -3], "<i4")
    ta, tb = (wire.binary_tensor(n, x.tobytes(), [3], "INT32") for n, x in (("A", a), ("B", b)))
    assert served.infer("div", [ta, tb], a.tobytes() + b.tobytes()).outputs()["Y"].tolist() == [3, -3, -3]
    assert served.infer("div", [tb, ta], b.tobytes() + a.tobytes()).outputs()["Y"].tolist() == [3, -3, -3]


@pytest.mark.parametrize("length", range(0, 66))
def test_the_section_may_start_anywhere(length: int, served: Served) -> None:
    """Its alignment in the body changes nothing."""
    inputs = [A_BINARY, B_BINARY]
    answer = served.infer("add", inputs, ONE + TEN, id="x" * length)
    assert answer.outputs()["Y"].tolist() == SUM


def test_tensors_that_start_at_odd_places(served: Served) -> None:
    """One byte for each BOOL in front moves the FP32 tensor behind it to any offset."""
    for count in range(1, 20):
        mask, values = np.arange(count) % 3 == 0, np.arange(count, dtype="<f4")
        inputs = [
            wire.binary_tensor("M", mask.tobytes(), [count], "BOOL"),
            wire.binary_tensor("X", values.tobytes(), [count]),
        ]
        answer = served.infer("comp", inputs, mask.tobytes() + values.tobytes())
        assert answer.outputs()["Y"].tolist() == values[mask].tolist()


@pytest.mark.parametrize("size", [0, 1, 4, 12, 15, 17, 20, 32, 2**31, 2**32 + 16, 2**63, 2**64 - 16, 2**64 - 1])
def test_a_size_that_its_shape_contradicts(size: int, served: Served) -> None:
    refused(served, wire.infer("add", [sized(A_BINARY, size), B_BINARY], ONE + TEN), "A")
    refused(served, wire.infer("add", [A_BINARY, sized(B_BINARY, size)], ONE + TEN), "B")
    refused(
        served, wire.infer("add", [sized(A_BINARY, size), sized(B_BINARY, 32 - size if size < 32 else 0)], ONE + TEN)
    )


def test_sizes_whose_sum_wraps(served: Served) -> None:
    refused(served, wire.infer("add", [sized(A_BINARY, 2**64 - 16), sized(B_BINARY, 48)], ONE + TEN))
    refused(served, wire.infer("add", [A_BINARY, sized(B_BINARY, 2**64 - 16)], ONE))


@pytest.mark.parametrize("sent", [0, 1, 15, 16, 24, 31, 33, 40, 48])
def test_a_section_of_another_size(sent: int, served: Served) -> None:
    refused(served, wire.infer("add", [A_BINARY, B_BINARY], (ONE + TEN + ONE)[:sent]))


def test_bytes_that_belong_to_no_input(served: Served) -> None:
    refused(served, wire.infer("add", [A_JSON, B_JSON], b"\0"))
    refused(served, wire.infer("add", [A_JSON, B_JSON], ONE))


def test_both_forms_or_none(served: Served) -> None:
    refused(served, wire.infer("add", [{**A_JSON, **A_BINARY}, B_JSON], ONE), "A")
    refused(served, wire.infer("add", [{**A_JSON, **A_BINARY}, B_JSON]), "A")
    neither = {key: value for key, value in A_JSON.items() if key != "data"}
    refused(served, wire.infer("add", [neither, B_JSON]), "A")
    refused(served, wire.infer("add", [neither, B_JSON], b""), "A")


@pytest.mark.parametrize("size", ["16", True, None, 16.5, -16, [16], {}])
def test_a_size_of_another_kind(size: Any, served: Served) -> None:
    refused(served, wire.infer("add", [sized(A_BINARY, size), B_BINARY], ONE + TEN), "binary_data_size")


def test_a_size_as_a_float(served: Served) -> None:
    """By the rule for numbers 16.0 and 1.6e1 are integers."""
    text = json.dumps({"inputs": [A_BINARY, B_BINARY]})
    for form in ("16.0", "1.6e1", "160e-1"):
        answer = served.ask(wire.infer_text("add", text.replace("16", form, 1), ONE + TEN))
        assert answer.outputs()["Y"].tolist() == SUM


@pytest.mark.parametrize("packed", [b"\x02", b"\xff", b"\x00\x01\x02"])
def test_booleans_that_are_none(packed: bytes, served: Served) -> None:
    refused(served, wire.infer("id_bool", [wire.binary_tensor("X", packed, [1, len(packed)], "BOOL")], packed), "X")


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x01",
        b"\x01\0\0",
        b"\x01\0\0\0",
        b"\0\0\0\0",
        b"\x02\0\0\0ab",
        b"\x02\0\0\0ab\x05\0\0\0",
        b"\x02\0\0\0ab\x05\0\0\0abcd",
        b"\x02\0\0\0ab\xff\xff\xff\xff",
        b"\x02\0\0\0ab\xff\xff\xff\x7fabc",
        b"\x02\0\0\0ab\x01\0\0\0c\0\0\0\0",
        b"\x02\0\0\0ab\x01\0\0\0c\0",
        b"\x02\0\0\0ab\x01\0\0\0cd",
        b"\x00\0\0\x02ab\x01\0\0\0c",
    ],
)
def test_strings_that_do_not_fill_the_tensor(packed: bytes, served: Served) -> None:
    refused(served, wire.infer("str", [wire.binary_tensor("X", packed, [2], "BYTES")], packed), "X")


# ---- Outputs


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_each_output_in_its_form(first: bool, second: bool, served: Served) -> None:
    outputs = [
        {"name": "Y", "parameters": {"binary_data": first}},
        {"name": "Z", "parameters": {"binary_data": second}},
    ]
    answer = served.infer("two_outputs", [wire.tensor("X", [[1, 2], [3, 4]])], outputs=outputs)
    assert ("inference-header-content-length" in answer.headers) == (first or second)
    assert [name for name, _ in wire.read_outputs(answer)] == ["Y", "Z"]
    assert answer.outputs()["Y"].tolist() == [[2, 4], [6, 8]]
    assert answer.outputs()["Z"].tolist() == [[2, 3], [4, 5]]
    described, section = wire.split_body(answer)
    assert len(section) == 16 * (first + second)
    for output, binary in zip(described["outputs"], (first, second), strict=True):
        assert output.get("parameters") == ({"binary_data_size": 16} if binary else None)


@pytest.mark.parametrize("default", [True, False, None])
@pytest.mark.parametrize("own", [True, False, None])
@pytest.mark.parametrize("last", [True, False])
def test_the_default_and_an_output_s_own(default: bool | None, own: bool | None, last: bool, served: Served) -> None:
    """`binary_data_output` counts where an output does not say, wherever it stands in the JSON."""
    parameters = {} if default is None else {"binary_data_output": default}
    request = {
        "parameters": parameters,
        "inputs": [wire.tensor("X", [[1, 2]])],
        "outputs": [{"name": "Y", "parameters": {} if own is None else {"binary_data": own}}, {"name": "Z"}],
    }
    if last:
        request["parameters"] = request.pop("parameters")
    answer = served.ask(wire.infer_text("two_outputs", json.dumps(request)))
    described, _ = wire.split_body(answer)
    expected = [bool(default) if own is None else own, bool(default)]
    assert ["parameters" in output for output in described["outputs"]] == expected
    assert answer.outputs()["Z"].tolist() == [[2, 3]]


def test_the_default_for_all_outputs(served: Served) -> None:
    for outputs in (None, []):
        answer = served.infer(
            "two_outputs", [wire.tensor("X", [[1, 2]])], outputs=outputs, parameters={"binary_data_output": True}
        )
        described, section = wire.split_body(answer)
        assert [output["parameters"] for output in described["outputs"]] == [{"binary_data_size": 8}] * 2
        assert section == wire.f32(2, 4, 2, 3)


FORMS = list(itertools.product((False, True), repeat=2))


@pytest.mark.parametrize("datatype", sorted(["UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64"]))
@pytest.mark.parametrize("forms", FORMS)
def test_every_integer_type_in_every_form(datatype: str, forms: tuple[bool, bool], served: Served) -> None:
    info = np.iinfo(datatype.lower())
    x = np.array([[info.min, info.max], [0, 1]], info.dtype)
    assert_same(served, datatype, x, forms)


@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64"])
@pytest.mark.parametrize("forms", FORMS)
def test_every_float_type_in_every_form(datatype: str, forms: tuple[bool, bool], served: Served) -> None:
    info = np.finfo(wire.dtype_of(datatype))
    x = np.array(
        [[info.max, info.min], [info.smallest_subnormal, info.tiny], [-0.0, 0.1], [1 / 3, info.eps]], info.dtype
    )
    assert_same(served, datatype, x, forms)


@pytest.mark.parametrize("forms", FORMS)
def test_booleans_in_every_form(forms: tuple[bool, bool], served: Served) -> None:
    assert_same(served, "BOOL", np.array([[True, False, True]]), forms)


def assert_same(served: Served, datatype: str, x: np.ndarray, forms: tuple[bool, bool]) -> None:
    """The identity gives back the same bits, for each form of the input and of the output."""
    binary_in, binary_out = forms
    name = f"id_{datatype.lower()}"
    if binary_in:
        tensor, section = wire.binary_tensor("X", x.tobytes(), x.shape, datatype), x.tobytes()
    else:
        tensor, section = wire.tensor("X", x.tolist(), datatype), None
    answer = served.infer(name, [tensor], section, parameters={"binary_data_output": binary_out})
    got = answer.outputs()["Y"]
    assert got.dtype == wire.dtype_of(datatype)
    assert got.tobytes() == x.tobytes(), (got, x)


def test_bf16_in_every_form(served: Served) -> None:
    bits = np.array([[0x3F80, 0xC000, 0x0001, 0x8000, 0x7F7F]], "<u2")
    tensor = wire.binary_tensor("X", bits.tobytes(), bits.shape, "BF16")
    answer = served.infer("id_bf16", [tensor], bits.tobytes(), parameters={"binary_data_output": True})
    assert answer.outputs()["Y"].tobytes() == bits.tobytes()
    (output,) = served.infer("id_bf16", [tensor], bits.tobytes()).json()["outputs"]
    assert output["datatype"] == "BF16"
    again = served.infer(
        "id_bf16", [wire.tensor("X", output["data"], "BF16", [1, 5])], parameters={"binary_data_output": True}
    )
    assert again.outputs()["Y"].tobytes() == bits.tobytes()
    assert output["data"][:2] == [1.0, -2.0]


@pytest.mark.parametrize("size", [1, 16 << 10, (16 << 10) + 1, 64 << 10, 1 << 20, 5_000_003])
def test_large_binary_tensors(size: int, served: Served) -> None:
    x = np.random.default_rng(size).integers(0, 256, (1, size), np.uint8)
    tensor = wire.binary_tensor("X", x.tobytes(), x.shape, "UINT8")
    answer = served.infer("id_uint8", [tensor], x.tobytes(), parameters={"binary_data_output": True})
    assert answer.outputs()["Y"].tobytes() == x.tobytes()
