"""Good requests with random damage: every answer is one that HTTP allows, and the server lives and keeps nothing."""

import contextlib
import json
import random

import pytest
import wire
from servers import ADD, Served

JSON = ADD.split(b"\r\n\r\n", 1)[1]
A = wire.f32(1, 2, 3, 4)
WORDS = [
    b"\r\n",
    b"\n",
    b"\0",
    b"\xff",
    b":",
    b" ",
    b"chunked",
    b"0",
    b"-1",
    b"99999999999999999999",
    b"Content-Length: 3",
    b"Transfer-Encoding: chunked\r\n",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b"e",
    b".",
    b"null",
    b"true",
    b"NaN",
    b"[[[[",
    b"HTTP/1.0",
    b"Expect: 100-continue\r\n",
    b"%",
    b"%00",
    b"/",
    b"Connection: close\r\n",
]


def seeds() -> list[bytes]:
    both = [wire.binary_tensor("A", A, [1, 4]), wire.binary_tensor("B", A, [1, 4])]
    packed = wire.pack_bytes([b"a\0b", b""])
    return [
        ADD,
        wire.infer("add", both, A + A, parameters={"binary_data_output": True}, id="x"),
        wire.chunked("POST", "/v2/models/add/infer", [JSON[:20], JSON[20:]], trailer=b"X: y\r\n", extension=";a=b"),
        wire.infer("str", [wire.binary_tensor("X", packed, [2], "BYTES")], packed),
        wire.infer(
            "two_outputs", [wire.tensor("X", [[1, 2]])], outputs=[{"name": "Z", "parameters": {"classification": 1}}]
        ),
        wire.request("GET", "/v2/models/add/versions/1/config", headers=[("Accept-Encoding", "gzip;q=0.5, *")]),
        wire.request("OPTIONS", "*"),
    ]


def damage(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            changed[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            del changed[at : at + rng.randint(1, 8)]
        elif kind == 2:
            changed[at:at] = rng.choice(WORDS)
        elif kind == 3:
            changed[at : at + 1] = rng.choice(WORDS)
        else:
            begin = rng.randrange(len(changed) + 1)
            changed[at:at] = changed[begin : begin + rng.randint(1, 40)]
    return bytes(changed)


def damage_body(data: bytes, rng: random.Random) -> bytes:
    """Only the body, with a length that is right: the JSON reader gets it all."""
    head, body = data.split(b"\r\n\r\n", 1)
    lines = [line for line in head.split(b"\r\n") if not line.startswith((b"Content-Length", b"Transfer"))]
    body = damage(body, rng)
    return b"\r\n".join([*lines, b"Content-Length: %d" % len(body)]) + b"\r\n\r\n" + body


def answers_in_order(served: Served, data: bytes, where: str) -> None:
    """Whatever was sent: answers that are well formed, then the end."""
    with served.connect() as connection:
        connection.send(data)
        with contextlib.suppress(OSError):
            connection.finish()
        got = connection.rest()
    for answer in wire.split_answers(got):
        assert answer.status in (200, 204, 400, 404, 405, 408, 411, 413, 415, 417, 429, 431, 500, 501, 503, 505), where
        if answer.status >= 400 and answer.body:
            assert list(wire.strict_json(answer.body)) == ["error"], where


def mutate(served: Served, seed: int, count: int) -> None:
    for number in range(count):
        rng = random.Random(f"{seed}.{number}")
        data = rng.choice(seeds())
        data = damage(data, rng) if number % 2 or not data.startswith(b"POST") else damage_body(data, rng)
        answers_in_order(served, data, f"seed {seed}, request {number}: {data!r}")
        if number % 50 == 0:
            served.canary()


@pytest.mark.parametrize("seed", range(4))
def test_damaged_requests(seed: int, served: Served) -> None:
    mutate(served, seed, 200)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_damaged_requests_for_long(seed: int, served: Served) -> None:
    mutate(served, seed, 5000)


def test_random_json(served: Served) -> None:
    """Trees of any shape under the keys that mean something."""
    keys = [
        "inputs",
        "outputs",
        "name",
        "shape",
        "datatype",
        "data",
        "parameters",
        "id",
        "binary_data_size",
        "timeout",
        "x",
    ]
    leaves = [None, True, 0, -1, 1.5, 2**63, 1e300, "", "A", "FP32", "é", [], {}, [1, 4], [1, 2, 3, 4]]

    def tree(rng: random.Random, depth: int) -> object:
        if depth == 0 or rng.random() < 0.3:
            return rng.choice(leaves)
        if rng.random() < 0.5:
            return [tree(rng, depth - 1) for _ in range(rng.randint(0, 3))]
        return {rng.choice(keys): tree(rng, depth - 1) for _ in range(rng.randint(0, 5))}

    with served.connect() as connection:
        for number in range(500):
            rng = random.Random(number)
            good = json.loads(JSON)
            place = rng.choice([good, good["inputs"][0], good["inputs"][1]])
            place[rng.choice(keys)] = tree(rng, 4)
            answer = connection.ask(wire.infer_text("add", json.dumps(good)))
            assert answer.status in (200, 400), (number, answer.body)
            if answer.status == 400:
                answer.error()
