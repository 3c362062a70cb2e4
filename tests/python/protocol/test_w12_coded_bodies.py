"""Requests whose bodies are compressed: read as if they came plain, and bounded by their size once expanded."""

import gzip
import struct
import zlib
from collections.abc import Callable

import numpy as np
import pytest
import tritonclient.http as triton
import wire
from servers import Served, StartServer

JSON = wire.infer("add", [wire.tensor("A", [[1, 2, 3, 4]]), wire.tensor("B", [[10, 20, 30, 40]])])
BODY = JSON.split(b"\r\n\r\n", 1)[1]
SUM = [[11, 22, 33, 44]]
CODERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress}


def ask(served: Served, coding: str, body: bytes, headers: wire.Headers = (), model: str = "add") -> wire.Answer:
    target = f"/v2/models/{model}/infer"
    return served.ask(wire.request("POST", target, body, [("Content-Encoding", coding), *headers]))


@pytest.mark.parametrize(
    ("coding", "coder"),
    [*CODERS.items(), ("GZIP", gzip.compress), ("x-gzip", gzip.compress), ("Deflate", zlib.compress)],
)
def test_a_coded_body_is_read(coding: str, coder: Callable[[bytes], bytes], served: Served) -> None:
    assert ask(served, coding, coder(BODY)).outputs()["Y"].tolist() == SUM


@pytest.mark.parametrize("coding", CODERS)
def test_the_header_length_is_that_of_the_expanded_json(coding: str, served: Served) -> None:
    a, b = wire.f32(1, 2, 3, 4), wire.f32(10, 20, 30, 40)
    plain = wire.infer("add", [wire.binary_tensor("A", a, [1, 4]), wire.binary_tensor("B", b, [1, 4])], a + b)
    head, body = plain.split(b"\r\n\r\n", 1)
    length = head.decode().lower().split("inference-header-content-length:")[1].split()[0]
    headers = [("Inference-Header-Content-Length", length)]
    assert ask(served, coding, CODERS[coding](body), headers).outputs()["Y"].tolist() == SUM
    wrong = [("Inference-Header-Content-Length", str(len(body) + 1))]
    assert ask(served, coding, CODERS[coding](body), wrong).status == 400


@pytest.mark.parametrize("coding", CODERS)
def test_a_coded_body_in_chunks(coding: str, served: Served) -> None:
    coded = CODERS[coding](BODY)
    pieces = [coded[i : i + 7] for i in range(0, len(coded), 7)]
    answer = served.ask(wire.chunked("POST", "/v2/models/add/infer", pieces, [("Content-Encoding", coding)]))
    assert answer.outputs()["Y"].tolist() == SUM


@pytest.mark.parametrize("coding", CODERS)
def test_a_large_body_arrives_whole(coding: str, served: Served) -> None:
    x = np.random.default_rng(1).standard_normal(1_000_000, dtype=np.float32)
    tensor = wire.binary_tensor("INPUT0", x.tobytes(), [1, x.size])
    outputs = [{"name": "OUTPUT0", "parameters": {"binary_data": True}}]
    plain = wire.infer("echo", [tensor], x.tobytes(), outputs=outputs)
    head, body = plain.split(b"\r\n\r\n", 1)
    length = head.decode().lower().split("inference-header-content-length:")[1].split()[0]
    answer = ask(served, coding, CODERS[coding](body), [("Inference-Header-Content-Length", length)], model="echo")
    assert np.array_equal(answer.outputs()["OUTPUT0"].ravel(), x)


def test_several_gzip_members_are_one_body(served: Served) -> None:
    coded = b"".join(gzip.compress(BODY[i : i + 11]) for i in range(0, len(BODY), 11)) + gzip.compress(b"")
    assert ask(served, "gzip", coded).outputs()["Y"].tolist() == SUM


@pytest.mark.parametrize("coding", CODERS)
def test_damaged_bodies(coding: str, served: Served) -> None:
    coded = CODERS[coding](BODY)
    for cut in (1, 2, 5, len(coded) // 2, len(coded) - 1):
        assert "early" in refused(served, coding, coded[:cut])
    assert refused(served, coding, b"\0" + coded)
    assert refused(served, coding, BODY)
    assert refused(served, coding, coded[:-3] + bytes(255 - byte for byte in coded[-3:]))  # the checksum
    assert refused(served, coding, coded + b"x")
    other = "deflate" if coding == "gzip" else "gzip"
    assert refused(served, other, coded)


def test_a_dictionary_is_refused(served: Served) -> None:
    coder = zlib.compressobj(zdict=BODY)
    assert refused(served, "deflate", coder.compress(BODY) + coder.flush())


def refused(served: Served, coding: str, body: bytes) -> str:
    answer = ask(served, coding, body)
    assert answer.status == 400, answer.body
    return answer.error()


def bomb(coding: str, gib: int) -> bytes:
    """Zeros, a thousandth of their size: one flushed block of them again and again."""
    coder = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = coder.compress(bytes(64 << 20)) + coder.flush(zlib.Z_FULL_FLUSH)
    frame = struct.pack("<BBBBIBB", 0x1F, 0x8B, 8, 0, 0, 0, 255) if coding == "gzip" else b"\x78\x9c"
    return frame + first * (16 * gib)


@pytest.mark.parametrize("coding", CODERS)
def test_a_bomb_is_refused_at_the_limit_of_the_expanded_body(coding: str, start_server: StartServer) -> None:
    server = start_server({"name": "echo", "identity": {}}, limits={"max_body_bytes": 16 << 20})
    before = server.resident()
    answer = ask(server, coding, bomb(coding, 10), model="echo")
    assert answer.status == 413
    assert str(16 << 20) in answer.error()
    assert server.resident() - before < 80 << 20  # the coded body and, while it grows, two of the expanded one
    wire.wait_for(lambda: server.metric("asio_infer_inflight_bytes") < 4096, "memory is given back")


def test_a_bomb_within_a_bomb_expands_once(served: Served) -> None:
    answer = ask(served, "gzip", gzip.compress(gzip.compress(bytes(1 << 20))), model="echo")
    assert answer.status == 400  # what comes out is no JSON


def test_many_empty_members_cost_little(served: Served) -> None:
    answer = ask(served, "gzip", gzip.compress(b"") * 50_000 + gzip.compress(BODY))
    assert answer.outputs()["Y"].tolist() == SUM


def test_the_expanded_bytes_are_part_of_the_budget(start_server: StartServer) -> None:
    server = start_server({"name": "echo", "identity": {}}, limits={"inflight_bytes": 1 << 20})
    answer = ask(server, "gzip", gzip.compress(bytes(2 << 20)), model="echo")
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) >= 1
    answer = ask(server, "gzip", gzip.compress(b" " * (200 << 10)), model="echo")
    assert answer.status == 400
    wire.wait_for(lambda: server.metric("asio_infer_inflight_bytes") < 4096, "memory is given back")


@pytest.mark.parametrize("coding", CODERS)
@pytest.mark.parametrize("binary", [True, False])
def test_tritons_client(coding: str, binary: bool, served: Served) -> None:
    with triton.InferenceServerClient(served.url.removeprefix("http://")) as client:
        inputs = []
        for name, first in (("A", 1), ("B", 10)):
            x = np.array([[first, 2 * first, 3 * first, 4 * first]], np.float32)
            inputs.append(triton.InferInput(name, list(x.shape), "FP32"))
            inputs[-1].set_data_from_numpy(x, binary_data=binary)
        result = client.infer(
            "add", inputs, request_compression_algorithm=coding, response_compression_algorithm=coding
        )
        assert result.as_numpy("Y").tolist() == SUM
