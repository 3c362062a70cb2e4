"""One connection for many requests: kept alive, pipelined, ended when it was said so, answered in order."""

import contextlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire
from servers import ADD, Served, StartServer
from wire import request

LIVE = request("GET", "/v2/health/live")


def numbered(number: int, model: str = "id_int64") -> bytes:
    tensor = wire.tensor("X", [[number]], "INT64") if model == "id_int64" else wire.tensor("INPUT0", [[number]])
    return wire.infer(model, [tensor], id=str(number))


def number_of(answer: wire.Answer) -> int:
    assert answer.status == 200, answer.body
    body = answer.json()
    assert body["outputs"][0]["data"] == [int(body["id"])]
    return int(body["id"])


# ---- Keep-alive


def test_many_requests_on_one_connection(served: Served) -> None:
    with served.connect() as connection:
        for number in range(300):
            answer = connection.ask(numbered(number))
            assert number_of(answer) == number
            assert answer.headers.get("connection", "keep-alive") == "keep-alive"


@pytest.mark.parametrize("value", ["close", "Close", "CLOSE", "keep-alive, close", "close, x", "x,close"])
def test_close_is_heeded(value: str, served: Served) -> None:
    with served.connect() as connection:
        connection.send(request("GET", "/v2/health/live", headers=[("Connection", value)]) + LIVE)
        answer = connection.answer()
        assert answer.status == 200
        assert answer.headers["connection"] == "close"
        connection.finish()
        connection.expect_close()


@pytest.mark.parametrize("value", ["keep-alive", "Keep-Alive", "x", "x, y", "closed", "upgrade, http2-settings"])
def test_other_connection_headers(value: str, served: Served) -> None:
    with served.connect() as connection:
        for _ in range(2):
            assert connection.ask(request("GET", "/v2/health/live", headers=[("Connection", value)])).status == 200


@pytest.mark.parametrize("value", [None, "close", "x"])
def test_http_1_0_closes(value: str | None, served: Served) -> None:
    headers = [] if value is None else [("Connection", value)]
    with served.connect() as connection:
        answer = connection.ask(request("GET", "/v2/health/live", headers=headers, version="1.0"))
        assert answer.json() == {"live": True}
        assert answer.headers["connection"] == "close"
        connection.expect_close()


def test_http_1_0_with_keep_alive(served: Served) -> None:
    data = request("GET", "/v2/health/live", headers=[("Connection", "keep-alive")], version="1.0")
    with served.connect() as connection:
        for _ in range(3):
            answer = connection.ask(data)
            assert answer.status == 200
            assert answer.headers["connection"] == "keep-alive"


def test_http_1_0_without_a_host(served: Served) -> None:
    assert served.ask(b"GET /v2/health/live HTTP/1.0\r\n\r\n").json() == {"live": True}


def test_an_inference_over_http_1_0(served: Served) -> None:
    assert served.ask(ADD.replace(b"HTTP/1.1", b"HTTP/1.0")).outputs()["Y"].tolist() == [[11, 22, 33, 44]]


def test_empty_lines_between_requests(served: Served) -> None:
    """Old clients send one behind a body; RFC 9112, 2.2 wants at least one to be skipped."""
    with served.connect() as connection:
        assert connection.ask(b"\r\n" + LIVE).status == 200
        connection.send(ADD + b"\r\n")
        assert connection.answer().status == 200
        connection.send(LIVE)
        assert connection.answer().status == 200


def test_a_request_in_every_two_pieces(served: Served) -> None:
    data = numbered(7)
    for cut in range(1, len(data), 3):
        answer = wire.ask_pieces(served.address, data[:cut], data[cut:])
        assert number_of(answer) == 7


def test_a_request_byte_by_byte(served: Served) -> None:
    with served.connect() as connection:
        connection.send_apart(*(bytes([byte]) for byte in LIVE))
        assert connection.answer().json() == {"live": True}


def test_the_client_may_close_its_sending_side(served: Served) -> None:
    """Every request that is complete is answered."""
    with served.connect() as connection:
        connection.send(numbered(1) + numbered(2))
        connection.finish()
        assert [number_of(connection.answer()) for _ in range(2)] == [1, 2]
        connection.expect_close()
    with served.connect() as connection:
        connection.send(numbered(1) + numbered(2)[:-1])
        connection.finish()
        assert number_of(connection.answer()) == 1
        connection.expect_close()


def test_a_connection_without_a_request(served: Served) -> None:
    with served.connect() as connection:
        connection.finish()
        connection.expect_close()
    for _ in range(20):
        served.connect().reset()


# ---- Pipelining


@pytest.mark.parametrize("count", [2, 63, 64, 65, 66, 500])
def test_pipelined_requests_are_answered_in_order(count: int, served: Served) -> None:
    with served.connect() as connection:
        connection.send(b"".join(map(numbered, range(count))))
        assert [number_of(connection.answer()) for _ in range(count)] == list(range(count))
        assert connection.ask(LIVE).status == 200


def test_pipelined_requests_of_many_kinds(served: Served) -> None:
    """Quick and slow ones, refused ones, with and without bodies."""
    kinds = [
        (LIVE, 200),
        (wire.infer("loop", [wire.tensor("ITERS", [30], "INT64")]), 200),
        (request("GET", "/nothing"), 404),
        (numbered(3), 200),
        (request("HEAD", "/v2/health/live"), 200),
        (request("OPTIONS", "/v2"), 204),
        (wire.infer_text("add", "{"), 400),
        (wire.chunked("POST", "/v2/models/nothing/infer", [b"x" * 5000]), 404),
        (request("DELETE", "/v2"), 405),
        (wire.infer("gather", [wire.tensor("IDX", [77], "INT64")]), 500),
        (request("GET", "/metrics"), 200),
        (ADD, 200),
    ]
    chosen = [kinds[(i * 7 + i // 12) % len(kinds)] for i in range(96)]
    with served.connect() as connection:
        connection.send(b"".join(data for data, _ in chosen))
        for data, status in chosen:
            assert connection.answer(to=data.split(b" ", 1)[0].decode()).status == status, data[:60]


def test_pipelined_requests_in_odd_pieces(served: Served) -> None:
    data = b"".join(map(numbered, range(40)))
    cuts = [0, *sorted((i * 7919) % len(data) for i in range(1, 30)), len(data)]
    with served.connect() as connection:
        for begin, end in itertools.pairwise(cuts):
            connection.send(data[begin:end])
        assert [number_of(connection.answer()) for _ in range(40)] == list(range(40))


def test_a_bad_request_ends_a_pipeline_behind_its_predecessors(served: Served) -> None:
    with served.connect() as connection:
        connection.send(numbered(1) + numbered(2) + b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n" + numbered(3))
        assert [number_of(connection.answer()) for _ in range(2)] == [1, 2]
        assert connection.answer().status == 400
        connection.finish()
        connection.expect_close()


@pytest.mark.parametrize(
    "bad",
    [
        b"garbage\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n",
        b"\x16\x03\x01\r\n\r\n",
    ],
)
@pytest.mark.parametrize("before", ["HEAD", "OPTIONS", "GET", "DELETE"])
def test_a_bad_request_behind_any_method(before: str, bad: bytes, served: Served) -> None:
    """What is left of the request before must not shape the refusal: one behind a HEAD has its body."""
    with served.connect() as connection:
        connection.send(request(before, "/v2/health/live"))
        connection.answer(to=before)
        connection.send(bad)
        answer = connection.answer()
        assert answer.status == 400
        answer.error()
        connection.finish()
        connection.expect_close()


def send_until_full(connection: wire.Connection, data: bytes, times: int) -> int:
    """Send `data` again and again until nobody takes it; returns how often all of it was sent."""
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < times * len(data):
            sent += connection.socket.send(data[sent % len(data) :])
    return sent // len(data)


def test_a_large_pipeline_to_a_client_that_does_not_read(served: Served) -> None:
    """What the server keeps for one connection is bounded: it stops reading, and goes on when it is read from."""
    before = served.resident()
    size = 200_000
    x = [[0.5] * 2000]
    data = wire.infer("id_fp32", [wire.tensor("X", x)])
    with served.connect(receive_buffer=4096) as connection:
        connection.socket.settimeout(0.5)
        whole = send_until_full(connection, data, size)
        assert whole < size
        assert served.resident() - before < 64 << 20
        connection.socket.settimeout(wire.GUARD_S)
        for _ in range(whole):
            assert len(connection.answer().body) > 4000


def test_a_slow_reader_of_a_large_answer(served: Served) -> None:
    x = bytes(range(256)) * (20 << 12)
    tensor = wire.binary_tensor("X", x, [1, len(x)], "UINT8")
    with served.connect(receive_buffer=4096) as connection:
        connection.send(wire.infer("id_uint8", [tensor], x, parameters={"binary_data_output": True}))
        served.canary()
        assert connection.answer().outputs()["Y"].tobytes() == x


def test_a_client_that_goes_away(served: Served) -> None:
    """At any moment of a request; nothing is left of it."""
    x = b"\0" * (8 << 20)
    large = wire.infer(
        "id_uint8", [wire.binary_tensor("X", x, [1, len(x)], "UINT8")], x, parameters={"binary_data_output": True}
    )
    for data in (LIVE, LIVE[:20], ADD, ADD[:-5], large, large[: 4 << 20], numbered(1) * 64, numbered(1) * 300):
        for end in ("close", "reset"):
            connection = served.connect()
            connection.send(data)
            if end == "reset":
                connection.reset()
            connection.socket.close()
    wire.wait_for(lambda: served.metric("asio_infer_inflight_bytes") < 4096, "memory is given back")
    wire.wait_for(lambda: served.metric("asio_infer_connections_open") == 1, "connections are closed")


# ---- Limits


@pytest.fixture(scope="module")
def strict(models: Path) -> Iterator[Served]:
    """A server with small limits."""
    limits = {
        "max_header_bytes": 2048,
        "max_json_depth": 10,
        "max_pipelined_requests": 4,
        "max_connections": 8,
        "inflight_bytes": 1 << 20,
        "max_tensors": 2,
        "max_rank": 4,
        "max_parameters": 3,
    }
    served = [{"name": "add", "model": str(models / "add.onnx")}, {"name": "echo", "identity": {"shape": [-1, -1]}}]
    with Served(served, limits=limits) as server:
        yield server


def header_of(size: int) -> bytes:
    data = request("GET", "/v2/health/live", headers=[("X", "")])
    return data.replace(b"X: ", b"X: " + b"x" * (size - len(data)))


def test_the_size_of_a_header(strict: Served) -> None:
    assert strict.ask(header_of(2048)).status == 200
    assert "header" in wire.refused(strict.address, header_of(2049) + LIVE, 431).error()
    wire.refused(strict.address, header_of(100_000), 431)
    wire.refused(strict.address, request("GET", "/" + "x" * 5000), 431, 414)
    wire.refused(strict.address, request("GET", "/", headers=[(f"X{i}", "") for i in range(500)]), 431)
    wire.refused(strict.address, b"x" * 100_000, 400, 431)
    assert strict.ask(header_of(2048)).status == 200


def test_a_header_without_an_end(strict: Served) -> None:
    with strict.connect() as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        for _ in range(50):
            connection.send(b"x" * 1000)
        assert connection.answer().status == 431
        connection.finish()
        connection.expect_close()


def test_the_default_size_of_a_header(served: Served) -> None:
    assert served.ask(header_of(32 << 10)).status == 200
    wire.refused(served.address, header_of((32 << 10) + 1), 431)


def test_the_depth_of_json(strict: Served) -> None:
    text = '{"x":' + "[" * 9 + "]" * 9 + "}"
    assert "inputs" in strict.ask(wire.infer_text("add", text)).error()
    assert "10" in strict.ask(wire.infer_text("add", text.replace("[]", "[[]]"))).error()


def test_the_number_of_tensors_and_parameters(strict: Served) -> None:
    good = {"inputs": [wire.tensor("INPUT0", [[1.5]])]}
    for change, word in (
        ({"inputs": [wire.tensor("INPUT0", [[1.5]])] * 3}, "inputs"),
        ({"outputs": [{"name": "OUTPUT0"}] * 3}, "outputs"),
        ({"parameters": dict.fromkeys("abcd", 1)}, "parameters"),
        ({"inputs": [wire.tensor("INPUT0", [1.5], shape=[1] * 5)]}, "shape"),
    ):
        answer = strict.ask(wire.infer_text("echo", json.dumps(good | change)))
        assert answer.status == 400
        assert word in answer.error()
    good["parameters"] = dict.fromkeys("abc", 1)
    assert strict.ask(wire.infer_text("echo", json.dumps(good))).status == 200


def test_more_pipelined_requests_than_the_limit_wait(strict: Served) -> None:
    with strict.connect() as connection:
        connection.send(b"".join(numbered(i, "echo") for i in range(50)))
        assert [connection.answer().json()["id"] for _ in range(50)] == [str(i) for i in range(50)]


def test_the_number_of_connections(strict: Served) -> None:
    wire.wait_for(lambda: strict.metric("asio_infer_connections_open") == 1, "connections are closed")
    refused = strict.metric("asio_infer_connections_refused_total")
    open_ones = [strict.connect() for _ in range(8)]
    for connection in open_ones:
        assert connection.ask(LIVE).status == 200
    with strict.connect() as extra, contextlib.suppress(ConnectionResetError):
        assert extra.rest() == b""
    for connection in open_ones:
        assert connection.ask(LIVE).status == 200
        connection.socket.close()
    wire.wait_for(lambda: strict.descriptors() < 30, "descriptors are closed")
    wire.wait_for(lambda: opens(strict), "new connections are taken")
    assert strict.metric("asio_infer_connections_refused_total") > refused
    strict.canary()


def opens(served: Served) -> bool:
    try:
        return served.ask(LIVE).status == 200
    except (ConnectionResetError, wire.ClosedEarly):
        return False


def test_the_bytes_in_flight(strict: Served) -> None:
    """A body that does not fit the budget beside other half bodies is refused, and may come again."""
    with strict.connect() as holder:
        holder.send(request("POST", "/v2/models/echo/infer", headers=[("Content-Length", "900000")]))
        holder.send(b" " * 899_999)
        wire.wait_for(lambda: strict.metric("asio_infer_inflight_bytes") >= 899_999, "the budget is spent")
        answer = wire.refused(strict.address, request("POST", "/v2/models/add/infer", b" " * 500_000) + LIVE, 503)
        assert int(answer.headers["retry-after"]) >= 1
        chunks = [b" " * 100_000] * 5
        answer = wire.refused(strict.address, wire.chunked("POST", "/v2/models/add/infer", chunks) + LIVE, 503)
        strict.canary()
        holder.reset()
    wire.wait_for(lambda: strict.metric("asio_infer_inflight_bytes") < 4096, "memory is given back")
    body = ADD.split(b"\r\n\r\n", 1)[1]
    assert strict.ask(request("POST", "/v2/models/add/infer", body + b" " * 500_000)).status == 200


def test_an_answer_that_does_not_fit_the_budget(strict: Served) -> None:
    """FP32 as text takes several times its bytes; the answer is then an error, not a cut one."""
    count = 200_000
    x = wire.f32(*([0.12345679] * count))
    answer = strict.infer("echo", [wire.binary_tensor("INPUT0", x, [1, count])], x)
    assert answer.status in (200, 503)
    if answer.status == 503:
        answer.error()
        assert int(answer.headers["retry-after"]) >= 1
    wire.wait_for(lambda: strict.metric("asio_infer_inflight_bytes") < 4096, "memory is given back")


# ---- Time


def test_a_header_and_a_body_that_come_too_slowly(models: Path) -> None:
    limits = {"header_timeout_s": 0.3, "body_progress_timeout_s": 0.3, "idle_timeout_s": 0.6}
    with Served([{"name": "add", "model": str(models / "add.onnx")}], limits=limits) as server:
        before = server.descriptors()
        for data in (LIVE[:-1], b"G", ADD[:-1], wire.chunked("POST", "/v2/models/add/infer", [b"x"])[:-3]):
            with server.connect() as connection:
                connection.send(data)
                answer = connection.answer()
                assert answer.status == 408
                answer.error()
                assert answer.headers["connection"] == "close"
                connection.finish()
                connection.expect_close()
        with server.connect() as connection:  # idle from the start
            connection.expect_close()
        with server.connect() as connection:  # idle behind an answer
            assert connection.ask(LIVE).status == 200
            connection.expect_close()
        wire.wait_for(lambda: server.descriptors() <= before, "connections are closed")
        server.canary()


def test_a_run_may_take_longer_than_any_of_these_times(start_server: StartServer) -> None:
    limits = {"header_timeout_s": 0.1, "body_progress_timeout_s": 0.1, "idle_timeout_s": 0.1}
    slow = {"name": "slow", "identity": {"shape": [-1, -1], "delay_s": 0.5}}
    server = start_server(slow, limits=limits | {"write_progress_timeout_s": 0.1})
    answer = server.infer("slow", [wire.tensor("INPUT0", [[1.5]])])
    assert answer.outputs()["OUTPUT0"].tolist() == [[1.5]]
