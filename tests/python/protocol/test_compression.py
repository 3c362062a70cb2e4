"""Answers are compressed when the client asks and it pays; what the headers say is what the bytes are."""

import gzip
import json
import zlib

import pytest
import wire
from servers import Served, StartServer

COUNT = 5000
DATA = json.dumps({"inputs": [wire.tensor("X", [[0.5] * COUNT])]})
BODY = DATA.encode()


def ask(served: Served, accept: str | None, body: bytes = BODY, model: str = "id_fp32") -> wire.Answer:
    headers = [] if accept is None else [("Accept-Encoding", accept)]
    return served.ask(wire.request("POST", f"/v2/models/{model}/infer", body, headers))


def decode(answer: wire.Answer) -> bytes:
    coding = answer.headers.get("content-encoding")
    if coding is None:
        return answer.body
    assert "accept-encoding" in answer.headers["vary"].lower()
    if coding == "gzip":
        return gzip.decompress(answer.body)
    assert coding == "deflate"
    return zlib.decompress(answer.body)


@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        (None, None),
        ("", None),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("x-gzip", "gzip"),
        ("deflate", "deflate"),
        ("gzip, deflate", "gzip"),
        ("deflate, gzip", "gzip"),
        ("gzip;q=0.5, deflate;q=0.8", "deflate"),
        ("gzip;q=0", None),
        ("gzip;q=0, deflate", "deflate"),
        ("gzip;q=0.000", None),
        ("gzip; q=0", None),
        ("gzip;Q=0", None),
        ("gzip ; q=1", "gzip"),
        ("gzip;q=0.001", "gzip"),
        ("br", None),
        ("br, zstd", None),
        ("br, gzip", "gzip"),
        ("*", "gzip"),
        ("*;q=0", None),
        ("gzip;q=0, *", "deflate"),
        ("identity", None),
        ("identity;q=1, gzip;q=0.5", None),
        ("identity;q=0.5, gzip", "gzip"),
        ("gzipx", None),
        ("xgzip", None),
        ("gzip;q=2", None),
        ("gzip;q=x", None),
        ("gzip;q=", None),
        (",,gzip,,", "gzip"),
        (";;;", None),
    ],
)
def test_what_the_client_accepts(accept: str | None, coding: str | None, served: Served) -> None:
    answer = ask(served, accept)
    assert answer.status == 200
    assert answer.headers.get("content-encoding") == coding
    assert wire.strict_json(decode(answer))["outputs"][0]["data"] == [0.5] * COUNT
    if coding:
        assert len(answer.body) < 5000


def test_two_lines_are_one_list(served: Served) -> None:
    headers = [("Accept-Encoding", "br"), ("Accept-Encoding", "gzip")]
    answer = served.ask(wire.request("POST", "/v2/models/id_fp32/infer", BODY, headers))
    assert answer.headers.get("content-encoding") == "gzip"
    headers = [("Accept-Encoding", "gzip"), ("Accept-Encoding", "gzip;q=0")]
    answer = served.ask(wire.request("POST", "/v2/models/id_fp32/infer", BODY, headers))
    assert wire.strict_json(decode(answer))["outputs"][0]["data"] == [0.5] * COUNT


def test_small_answers_stay_as_they_are(served: Served) -> None:
    for target in ("/v2", "/v2/health/live", "/nothing"):
        answer = served.ask(wire.request("GET", target, headers=[("Accept-Encoding", "gzip")]))
        assert "content-encoding" not in answer.headers


def test_an_answer_that_would_not_get_smaller_stays_as_it_is(served: Served) -> None:
    """Random text of the alphabet that JSON needs no escapes for hardly shrinks; whichever it is, it must be said."""
    import random

    text = "".join(chr(random.Random(i).randrange(0x4E00, 0x9000)) for i in range(20_000))
    body = json.dumps({"inputs": [wire.tensor("X", [text], "BYTES")]}, ensure_ascii=False).encode()
    answer = ask(served, "gzip", body, "str")
    assert wire.strict_json(decode(answer))["outputs"][0]["data"] == [text]


@pytest.mark.parametrize("size", [900, 1000, 1024, 1100, 70_000, 3_000_000])
def test_around_the_limits(size: int, served: Served) -> None:
    body = json.dumps({"inputs": [wire.tensor("X", ["ab" * (size // 2)], "BYTES")]}).encode()
    for accept in ("gzip", "deflate", None):
        answer = ask(served, accept, body, "str")
        text = decode(answer)
        assert wire.strict_json(text)["outputs"][0]["data"] == ["ab" * (size // 2)]
        assert ("content-encoding" in answer.headers) == (accept is not None and len(text) > 1024)


def test_binary_answers_are_left_alone(served: Served) -> None:
    x = b"\0" * 100_000
    tensor = wire.binary_tensor("X", x, [1, len(x)], "UINT8")
    data = wire.infer(
        "id_uint8", [tensor], x, parameters={"binary_data_output": True}, headers=[("Accept-Encoding", "gzip")]
    )
    answer = served.ask(data)
    assert "content-encoding" not in answer.headers
    assert answer.outputs()["Y"].tobytes() == x


def test_binary_answers_where_the_server_is_told_to(
    start_server: StartServer, common_models: list[dict[str, str]]
) -> None:
    """The length of the JSON counts bytes of the body before it is coded, as clients take it."""
    models = [model for model in common_models if model["name"] == "id_uint8"]
    server = start_server(*models, server={"compress_binary": True})
    x = bytes(range(256)) * 1000
    tensor = wire.binary_tensor("X", x, [1, len(x)], "UINT8")
    for accept in ("gzip", "deflate"):
        data = wire.infer(
            "id_uint8", [tensor], x, parameters={"binary_data_output": True}, headers=[("Accept-Encoding", accept)]
        )
        answer = server.ask(data)
        assert answer.headers["content-encoding"] == accept
        plain = wire.Answer(200, answer.headers, decode(answer))
        assert plain.outputs()["Y"].tobytes() == x


def test_head_says_what_get_would(served: Served) -> None:
    """Metrics as text are not compressed; statistics as JSON are."""
    headers = [("Accept-Encoding", "gzip")]
    got = served.ask(wire.request("GET", "/v2/models/stats", headers=headers))
    head = served.ask(wire.request("HEAD", "/v2/models/stats", headers=headers))
    assert got.headers.get("content-encoding") == head.headers.get("content-encoding") == "gzip"
    assert head.body == b""
    assert wire.strict_json(decode(got))["model_stats"]


def test_large_errors(served: Served) -> None:
    answer = ask(served, "gzip", json.dumps({"inputs": [wire.tensor("x" * 5000, [1])]}).encode())
    assert answer.status == 400
    assert list(wire.strict_json(decode(answer))) == ["error"]


def test_pipelined_answers_of_both_kinds(served: Served) -> None:
    requests = [
        wire.request("POST", "/v2/models/id_fp32/infer", BODY, [("Accept-Encoding", accept)] if accept else [])
        for accept in ("gzip", "", "deflate", "gzip", "")
    ]
    with served.connect() as connection:
        connection.send(b"".join(requests) * 4)
        for _ in range(4):
            for coding in ("gzip", None, "deflate", "gzip", None):
                answer = connection.answer()
                assert answer.headers.get("content-encoding") == coding
                assert wire.strict_json(decode(answer))["outputs"][0]["data"] == [0.5] * COUNT
