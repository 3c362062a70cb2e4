"""Numbers in text: finite ones come back to the last bit, and what is not finite never becomes broken JSON."""

import json
import os
import re

import numpy as np
import pytest
import wire
from servers import Model, Served

INF, NAN = float("inf"), float("nan")
LOG_INPUT = wire.f32(-1, 0, INF, 1)


def test_infinities_and_nan_in_an_output(served: Served) -> None:
    """As JSON an error that names the output, the element and the way out; in binary the exact bits."""
    x = wire.binary_tensor("X", LOG_INPUT, [4])
    answer = served.infer("log", [x], LOG_INPUT)
    assert answer.status == 400
    assert "'Y'" in answer.error()
    assert "binary_data" in answer.error()
    y = served.infer("log", [x], LOG_INPUT, parameters={"binary_data_output": True}).outputs()["Y"]
    assert np.isnan(y[0])
    assert y[1:].tolist() == [-INF, INF, 0]


@pytest.mark.parametrize("datatype", ["FP16", "FP32", "FP64"])
@pytest.mark.parametrize("value", [INF, -INF, NAN])
def test_each_that_is_not_finite(datatype: str, value: float, served: Served) -> None:
    x = np.array([[0, 1], [value, 2]], wire.dtype_of(datatype))
    tensor = wire.binary_tensor("X", x.tobytes(), [2, 2], datatype)
    answer = served.infer(f"id_{datatype.lower()}", [tensor], x.tobytes())
    assert answer.status == 400
    assert "element 2" in answer.error()
    answer = served.infer(f"id_{datatype.lower()}", [tensor], x.tobytes(), parameters={"binary_data_output": True})
    assert answer.outputs()["Y"].tobytes() == x.tobytes()


@pytest.mark.parametrize("bits", [0x7F80, 0xFF80, 0x7FC0, 0xFFFF])
def test_bf16_that_is_not_finite(bits: int, served: Served) -> None:
    x = np.array([[bits]], "<u2").tobytes()
    tensor = wire.binary_tensor("X", x, [1, 1], "BF16")
    assert served.infer("id_bf16", [tensor], x).status == 400
    answer = served.infer("id_bf16", [tensor], x, parameters={"binary_data_output": True})
    assert answer.outputs()["Y"].tobytes() == x


def test_an_output_that_is_not_asked_for_may_be_anything(served: Served) -> None:
    x = wire.f32(INF, 1)
    tensor = wire.binary_tensor("X", x, [1, 2])
    assert served.infer("two_outputs", [tensor], x).status == 400
    outputs = [{"name": "Y", "parameters": {"binary_data": True}}]
    assert served.infer("two_outputs", [tensor], x, outputs=outputs).outputs()["Y"].tolist() == [[INF, 2]]


@pytest.mark.parametrize(
    "token", ["NaN", "Infinity", "-Infinity", "nan", "inf", "1e", "1.e5", "--1", "0x1p3", "1_0", "1f"]
)
def test_tokens_that_are_no_numbers(token: str, served: Served) -> None:
    text = f'{{"inputs":[{{"name":"X","shape":[1,1],"datatype":"FP32","data":[{token}]}}]}}'
    assert served.ask(wire.infer_text("id_fp32", text)).status == 400


def echo(served: Served, datatype: str, texts: list[str]) -> tuple[np.ndarray, list[str]]:
    """Numbers as texts through an identity: the exact values that it saw, and the texts that it gave back."""
    inner = ",".join(texts)
    text = f'{{"inputs":[{{"name":"X","shape":[1,{len(texts)}],"datatype":"{datatype}","data":[{inner}]}}]'
    model = f"id_{datatype.lower()}"
    binary = served.ask(wire.infer_text(model, text + ',"parameters":{"binary_data_output":true}}'))
    answer = served.ask(wire.infer_text(model, text + "}"))
    assert answer.status == 200, answer.body
    answer.json()
    found = re.search(rb'"data":\[([^\]]*)\]', answer.body)
    assert found
    return binary.outputs()["Y"][0], found[1].decode().split(",")


NUMBERS = [
    "6e-7",
    "1e38",
    "1.17e-38",
    "-0.0",
    "-0",
    "0",
    "0.1",
    "16777217",
    "3.4028234663852886e38",
    "1.4e-45",
    "1e-45",
    "0.3333333333333333333333333333",
    "9007199254740993",
    "123456789.123456789",
    "5e-1",
    "5E+1",
    "1e0",
    "2.5",
    "0.00000000000000000000000000000000000001",
    "33554433",
    "1.00000011920928955078125",
    "8.5e37",
]


@pytest.mark.parametrize("datatype", ["FP32", "FP64"])
def test_floats_come_back_to_the_last_bit(datatype: str, served: Served) -> None:
    dtype = wire.dtype_of(datatype)
    values, texts = echo(served, datatype, NUMBERS)
    expected = np.array([dtype.type(text) for text in NUMBERS], dtype)
    if datatype == "FP64":
        assert values.tobytes() == expected.tobytes()
    again = np.array([dtype.type(text) for text in texts], dtype)
    assert again.tobytes() == values.tobytes()
    assert all(re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text) for text in texts), texts


def test_fp32_is_rounded_once(served: Served) -> None:
    """Text to FP32 directly; by way of a double these round wrongly."""
    texts = [
        "1.00000017881393432617187499",
        "1.00000017881393421514957253748434595763683319091796875001",
        "8589973000.0000001",
        "7.038531e-26",
        "1.00000005960464477539062500000000001",
    ]
    values, _ = echo(served, "FP32", texts)
    from decimal import Decimal

    for text, value in zip(texts, values, strict=True):
        exact = Decimal(text)
        neighbours = [np.nextafter(value, np.float32(side)) for side in (-np.inf, np.inf)]
        own = abs(Decimal(float(value)) - exact)
        assert all(own <= abs(Decimal(float(other)) - exact) for other in neighbours), (text, value)


def test_fp64_extremes(served: Served) -> None:
    texts = ["5e-324", "2.2250738585072014e-308", "1.7976931348623157e308", "2.2250738585072011e-308", "4.9e-324"]
    values, back = echo(served, "FP64", texts)
    assert values.tolist() == [float(text) for text in texts]
    assert [float(text) for text in back] == values.tolist()


def test_random_bits_of_fp32_and_fp64(served: Served) -> None:
    rng = np.random.default_rng(5)
    for datatype, unsigned in (("FP32", np.uint32), ("FP64", np.uint64)):
        dtype = wire.dtype_of(datatype)
        x = rng.integers(0, np.iinfo(unsigned).max, 20_000, unsigned).view(dtype)
        x = x[np.isfinite(x)][None]
        tensor = wire.binary_tensor("X", x.tobytes(), x.shape, datatype)
        answer = served.infer(f"id_{datatype.lower()}", [tensor], x.tobytes())
        assert answer.outputs()["Y"].tobytes() == x.tobytes()
        again = wire.infer(
            f"id_{datatype.lower()}",
            [wire.tensor("X", answer.json()["outputs"][0]["data"], datatype, list(x.shape))],
            parameters={"binary_data_output": True},
        )
        assert served.ask(again).outputs()["Y"].tobytes() == x.tobytes()


def test_fp32_is_printed_as_short_as_it_can_be(served: Served) -> None:
    _, texts = echo(served, "FP32", ["0.1", "16777216", "0.3", "1e10", "1e-10", "3.14"])
    assert all(len(text) <= 10 for text in texts), texts


def test_all_finite_fp16(served: Served) -> None:
    bits = np.arange(65_536, dtype="<u2")
    x = bits.view("<f2")[np.isfinite(bits.view("<f2"))][None]
    tensor = wire.binary_tensor("X", x.tobytes(), x.shape, "FP16")
    answer = served.infer("id_fp16", [tensor], x.tobytes())
    assert answer.outputs()["Y"].tobytes() == x.tobytes()


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("1.0", 0x3C00),
        ("65504", 0x7BFF),
        ("65519.99", 0x7BFF),
        ("-0.0", 0x8000),
        ("6e-8", 1),
        ("2049", 0x6800),
        ("2051", 0x6802),
        ("2.98023223876953125e-8", 0),
        ("2.98023223876953126e-8", 1),
        ("2049.00000000000000001", 0x6801),
        ("1e-400", 0),
        ("0.1", 0x2E66),
    ],
)
def test_fp16_rounds_to_nearest_even(text: str, bits: int, served: Served) -> None:
    values, _ = echo(served, "FP16", [text])
    assert values.view("<u2").tolist() == [bits]


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("1.0", 0x3F80),
        ("1.00390625", 0x3F80),
        ("1.01171875", 0x3F82),
        ("1.00390625000000000001", 0x3F81),
        ("-2", 0xC000),
        ("3.3895313892515355e38", 0x7F7F),
        ("9.2e-41", 1),
    ],
)
def test_bf16_rounds_to_nearest_even(text: str, bits: int, served: Served) -> None:
    values, _ = echo(served, "BF16", [text])
    assert values.view("<u2").tolist() == [bits]


@pytest.mark.parametrize(
    ("datatype", "text"),
    [
        ("FP16", "65520"),
        ("FP16", "-65520"),
        ("FP16", "1e10"),
        ("BF16", "3.4e38"),
        ("FP32", "1e39"),
        ("FP32", "-1e39"),
        ("FP32", "3.4028236e38"),
        ("FP64", "1e309"),
        ("FP64", "-1e400"),
        ("FP32", "1" + "0" * 400),
        ("FP64", "1e99999999999"),
    ],
)
def test_what_is_too_large_is_no_infinity(datatype: str, text: str, served: Served) -> None:
    body = f'{{"inputs":[{{"name":"X","shape":[1,1],"datatype":"{datatype}","data":[{text}]}}]}}'
    answer = served.ask(wire.infer_text(f"id_{datatype.lower()}", body))
    assert answer.status == 400
    assert "X" in answer.error()
    assert datatype in answer.error()


@pytest.mark.parametrize("text", ["1e-400", "-1e-400", "0e99999999999", "1e-99999999999", "0." + "0" * 500 + "1"])
def test_what_is_too_small_is_zero(text: str, served: Served) -> None:
    for datatype in ("FP32", "FP64"):
        values, _ = echo(served, datatype, [text])
        assert values.tolist() == [0]


def test_very_long_numbers(served: Served) -> None:
    digits = "1." + "0" * 100_000 + "1"
    values, _ = echo(served, "FP32", [digits, "0" + digits[1:], "1" + "0" * 30 + ".5"])
    assert values.tolist() == [1.0, 0.0, np.float32(1e30)]


def test_under_another_locale(common_models: list[Model]) -> None:
    """No decimal comma, wherever the process runs. The locale need not exist for the variable to be tried."""
    environment = {"LC_ALL": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
    old = {key: os.environ.get(key) for key in environment}
    os.environ.update(environment)
    try:
        with Served([model for model in common_models if model["name"] == "id_fp32"]) as server:
            answer = server.infer("id_fp32", [wire.tensor("X", [[1.5, 1e-7, 12345678.0]])])
            assert json.loads(answer.body)["outputs"][0]["data"] == [1.5, 1e-7, 12345678.0]
            assert b"1.5" in answer.body
    finally:
        for key, value in old.items():
            os.environ.pop(key) if value is None else os.environ.__setitem__(key, value)
