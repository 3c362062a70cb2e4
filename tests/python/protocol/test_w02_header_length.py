"""Inference-Header-Content-Length beside the real body: a length that is wrong must never be used as an offset."""

import json

import pytest
import wire
from servers import Served

A, B = wire.f32(1, 2, 3, 4), wire.f32(10, 20, 30, 40)
JSON = json.dumps({"inputs": [wire.binary_tensor("A", A, [1, 4]), wire.binary_tensor("B", B, [1, 4])]}).encode()
BODY = JSON + A + B
PLAIN = json.dumps(
    {"inputs": [wire.tensor("A", [[1, 2, 3, 4]]), wire.tensor("B", [[10, 20, 30, 40]])]},
).encode()
NAME = "Inference-Header-Content-Length"
TARGET = "/v2/models/add/infer"


def with_length(*lengths: str, name: str = NAME, body: bytes = BODY) -> bytes:
    return wire.request("POST", TARGET, body, [(name, length) for length in lengths])


@pytest.mark.parametrize("name", [NAME, NAME.lower(), NAME.upper()])
def test_the_right_length(name: str, served: Served) -> None:
    answer = served.ask(with_length(str(len(JSON)), name=name))
    assert answer.outputs()["Y"].tolist() == [[11, 22, 33, 44]]


def test_blanks_and_zeros_around_the_right_length(served: Served) -> None:
    for text in (f"  {len(JSON)}\t ", f"000{len(JSON)}"):
        answer = served.ask(with_length(text))
        assert answer.status in (200, 400)
        if answer.status == 200:
            assert answer.outputs()["Y"].tolist() == [[11, 22, 33, 44]]


@pytest.mark.parametrize(
    "length",
    [
        "0",
        "-1",
        f"-{len(JSON)}",
        f"+{len(JSON)}",
        "0x20",
        hex(len(JSON)),
        "1e3",
        "",
        " ",
        f"{len(JSON)}.0",
        f"{len(JSON)},{len(JSON)}",
        f"{len(JSON)} {len(JSON)}",
        f"{len(JSON)};",
        f'"{len(JSON)}"',
        str(len(JSON) - 1),
        str(len(JSON) + 1),
        str(len(JSON) + len(A)),
        str(len(BODY) - 1),
        str(len(BODY)),
        str(len(BODY) + 1),
        str(2**31),
        str(2**32),
        str(2**32 + len(JSON)),
        str(2**63),
        str(2**63 + len(JSON)),
        str(2**64),
        str(2**64 + len(JSON)),
        "9" * 1000,
        "١٢".encode().decode("latin-1"),
    ],
)
def test_a_wrong_length(length: str, served: Served) -> None:
    answer = served.ask(with_length(length))
    assert answer.status == 400, answer.body
    answer.error()
    assert "-" not in answer.error().replace(NAME, "").replace(length, ""), answer.error()


def test_no_length(served: Served) -> None:
    answer = served.ask(wire.request("POST", TARGET, BODY))
    assert answer.status == 400
    assert NAME in served.ask(wire.request("POST", TARGET, JSON)).error()


@pytest.mark.parametrize("pair", [(len(JSON), len(BODY)), (len(BODY), len(JSON)), (len(JSON), len(JSON)), (0, 0)])
def test_two_lengths(pair: tuple[int, int], served: Served) -> None:
    answer = served.ask(with_length(*map(str, pair)))
    assert answer.status == 400
    assert NAME in answer.error()


def test_a_body_of_json_alone(served: Served) -> None:
    answer = served.ask(with_length(str(len(PLAIN)), body=PLAIN))
    assert answer.outputs()["Y"].tolist() == [[11, 22, 33, 44]]
    for length in (len(PLAIN) - 1, len(PLAIN) + 1, 1, 0):
        assert served.ask(with_length(str(length), body=PLAIN)).status == 400


def test_a_length_without_a_body(served: Served) -> None:
    for length in ("0", "1", "10"):
        head = [("Content-Length", "0"), (NAME, length)]
        assert served.ask(wire.request("POST", TARGET, headers=head)).status == 400
        assert served.ask(wire.request("POST", TARGET, headers=head[1:])).status == 400


def test_in_a_chunked_body(served: Served) -> None:
    """The length counts bytes of the body, wherever the chunks begin and end."""
    for size in (1, 7, len(JSON), 1000):
        pieces = [BODY[i : i + size] for i in range(0, len(BODY), size)]
        answer = served.ask(wire.chunked("POST", TARGET, pieces, [(NAME, str(len(JSON)))]))
        assert answer.outputs()["Y"].tolist() == [[11, 22, 33, 44]]
        for wrong in (len(JSON) + 1, len(BODY) + 1, 2**63, 2**64):
            assert served.ask(wire.chunked("POST", TARGET, pieces, [(NAME, str(wrong))])).status == 400


@pytest.mark.parametrize("ihcl", ["187", "0", "3000000000", "2999999999"])
def test_three_gigabytes_are_refused_before_they_come(ihcl: str, served: Served) -> None:
    before = served.resident()
    head = [("Content-Length", "3000000000"), (NAME, ihcl)]
    with served.connect() as connection:
        answer = connection.ask(wire.request("POST", TARGET, headers=head))
        assert answer.status == 413
        assert "3000000000" in answer.error()
        assert "-" not in answer.error()
        connection.finish()
        connection.expect_close()
    assert served.resident() - before < 8 << 20


def test_declared_bytes_that_never_come_cost_nothing(served: Served) -> None:
    """Many connections that announce a body at the limit: memory is for bytes that came."""
    before = served.resident()
    connections = [served.connect() for _ in range(20)]
    for connection in connections:
        connection.send(wire.request("POST", TARGET, headers=[("Content-Length", str(64 << 20)), (NAME, "187")]))
    served.canary()
    assert served.resident() - before < 16 << 20
    for connection in connections:
        connection.reset()
