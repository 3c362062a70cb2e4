"""Bodies over the limit and Expect: the answer is one that the client can read, and comes without a needless wait."""

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire
from servers import ADD, Served

TARGET = "/v2/models/add/infer"
JSON = ADD.split(b"\r\n\r\n", 1)[1]
LIMIT = 64 << 20
LIVE = wire.request("GET", "/v2/health/live")


def expecting(expectation: str, *headers: tuple[str, str], version: str = "1.1") -> bytes:
    return wire.request("POST", TARGET, headers=[*headers, ("Expect", expectation)], version=version)


# ---- Expect


@pytest.mark.parametrize("expectation", ["100-continue", "100-Continue"])
def test_continue_comes_before_the_body(expectation: str, served: Served) -> None:
    with served.connect() as connection:
        for _ in range(3):
            connection.send(expecting(expectation, ("Content-Length", str(len(JSON)))))
            assert connection.interim() == 100
            connection.send(JSON)
            assert connection.answer().outputs()["Y"].tolist() == [[11, 22, 33, 44]]
        assert connection.ask(LIVE).status == 200


def test_continue_before_a_chunked_body(served: Served) -> None:
    with served.connect() as connection:
        connection.send(expecting("100-continue", ("Transfer-Encoding", "chunked")))
        assert connection.interim() == 100
        connection.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(JSON), JSON))
        assert connection.answer().outputs()["Y"].tolist() == [[11, 22, 33, 44]]


def test_a_body_that_did_not_wait(served: Served) -> None:
    """With the body there already, a 100 may come or not; the answer is the same."""
    with served.connect() as connection:
        data = expecting("100-continue", ("Content-Length", str(len(JSON)))) + JSON
        connection.send(data + LIVE)
        assert connection.answer(skip_continue=True).outputs()["Y"].tolist() == [[11, 22, 33, 44]]
        assert connection.answer().json() == {"live": True}


def test_no_continue_without_a_body_or_in_http_1_0(served: Served) -> None:
    with served.connect() as connection:
        data = wire.request("GET", "/v2/health/live", headers=[("Expect", "100-continue")])
        assert connection.ask(data).status == 200
        data = wire.request("GET", "/v2/health/live", headers=[("Expect", "100-continue"), ("Content-Length", "0")])
        assert connection.ask(data).status == 200
    with served.connect() as connection:
        data = expecting("100-continue", ("Content-Length", str(len(JSON))), version="1.0")
        connection.send_apart(data, JSON)
        assert connection.answer().outputs()["Y"].tolist() == [[11, 22, 33, 44]]


def test_a_continue_waits_for_the_answers_before_it(served: Served) -> None:
    """In a pipeline, interim answers keep the order too."""
    with served.connect() as connection:
        connection.send(LIVE * 3 + expecting("100-continue", ("Content-Length", str(len(JSON)))))
        for _ in range(3):
            assert connection.answer().json() == {"live": True}
        assert connection.interim() == 100
        connection.send(JSON)
        assert connection.answer().status == 200


@pytest.mark.parametrize("size", [LIMIT + 1, 3_000_000_000, 2**63 - 1, 2**63, 2**64 - 1])
def test_over_the_limit_there_is_no_continue(size: int, served: Served) -> None:
    with served.connect() as connection:
        connection.send(expecting("100-continue", ("Content-Length", str(size))))
        answer = connection.answer()
        assert answer.status == 413
        assert str(size) in answer.error()
        assert str(LIMIT) in answer.error()
        connection.finish()
        connection.expect_close()


@pytest.mark.parametrize("expectation", ["something-else", "100-continue, x", "", "200-ok", "100-continue;q=1", "100"])
def test_another_expectation(expectation: str, served: Served) -> None:
    data = expecting(expectation, ("Content-Length", str(len(JSON))))
    with served.connect() as connection:
        connection.send(data + JSON + LIVE)
        answer = connection.answer()
        assert answer.status == 417
        answer.error()
        connection.finish()
        connection.expect_close()


def test_two_expectations(served: Served) -> None:
    data = expecting("100-continue", ("Expect", "100-continue"), ("Content-Length", "5"))
    assert wire.refused(served.address, data + b"hello" + LIVE, 417)


def test_curl_waits_for_nothing(served: Served, models: Path, tmp_path: Path) -> None:
    """curl asks before a large body, and waits a second where nobody answers."""
    x = bytes(range(256)) * (1 << 14)
    text = b'{"inputs":[{"name":"X","shape":[1,%d],"datatype":"UINT8","parameters":{"binary_data_size":%d}}]}'
    text %= len(x), len(x)
    (tmp_path / "body").write_bytes(text + x)
    command = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{time_total}", "--data-binary", "@body"]
    command += ["-H", f"Inference-Header-Content-Length: {len(text)}", "-H", "Expect: 100-continue"]
    command += ["-H", "Content-Type: application/octet-stream", f"{served.url}/v2/models/id_uint8/infer?x=1"]
    text = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=30).stdout
    status, seconds = text.split()
    assert status == "200"
    assert float(seconds) < 0.9


# ---- Bodies over the limit


@pytest.fixture(scope="module")
def small(models: Path) -> Iterator[Served]:
    """A server that takes bodies of up to 1 MiB."""
    with Served([{"name": "add", "model": str(models / "add.onnx")}], limits={"max_body_bytes": 1 << 20}) as server:
        yield server


def padded(size: int) -> bytes:
    return JSON[:-1] + b" " * (size - len(JSON)) + b"}"


def test_the_limit_itself(small: Served) -> None:
    assert small.ask(wire.request("POST", TARGET, padded(1 << 20))).outputs()["Y"].tolist() == [[11, 22, 33, 44]]
    answer = small.ask(wire.request("POST", TARGET, padded((1 << 20) + 1)))
    assert answer.status == 413
    assert "1048577" in answer.error()
    assert "1048576" in answer.error()


@pytest.mark.parametrize("size", [1, 1000, 65_536, 1 << 20])
def test_the_limit_itself_in_chunks(size: int, small: Served) -> None:
    def ask(total: int) -> wire.Answer:
        body = padded(total)
        return small.ask(wire.chunked("POST", TARGET, [body[i : i + size] for i in range(0, total, size)]))

    total = 1 << 20 if size > 1 else 5000
    assert ask(total).status == 200
    if size > 1:
        answer = ask(total + 1)
        assert answer.status == 413
        assert "1048576" in answer.error()


@pytest.mark.parametrize("method", ["GET", "OPTIONS", "DELETE"])
def test_the_limit_is_the_same_for_every_method(method: str, small: Served) -> None:
    wire.refused(small.address, wire.request(method, "/v2", headers=[("Content-Length", "1048577")]) + LIVE, 413)


@pytest.mark.parametrize("form", ["length", "chunked"])
def test_a_client_that_writes_all_before_it_reads(form: str, small: Served) -> None:
    """The refusal must not be lost to a reset over the bytes that nobody wanted."""
    size = 200 << 20
    block = b" " * (1 << 20)
    with small.connect() as connection:
        if form == "length":
            connection.send(wire.request("POST", TARGET, headers=[("Content-Length", str(size))]))
            for _ in range(200):
                connection.send(block)
        else:
            connection.send(wire.request("POST", TARGET, headers=[("Transfer-Encoding", "chunked")]))
            for _ in range(200):
                connection.send(b"100000\r\n" + block + b"\r\n")
            connection.send(b"0\r\n\r\n")
        answer = connection.answer()
        assert answer.status == 413
        answer.error()
        connection.expect_close()


def test_a_client_that_reads_while_it_writes(small: Served) -> None:
    """The server ends its side behind the answer, so that the client knows that it can stop."""
    with small.connect() as connection:
        connection.send(wire.request("POST", TARGET, headers=[("Content-Length", str(1 << 30))]))
        assert connection.answer().status == 413
        assert connection.rest() == b""
        connection.send(b"x")  # it still may, for a while


def test_through_a_slow_proxy(small: Served) -> None:
    """The same with something between that forwards late."""
    with SlowProxy(small.address) as proxy, wire.Connection(proxy.address) as connection:
        connection.send(wire.request("POST", TARGET, headers=[("Content-Length", str(20 << 20))]))
        for _ in range(20):
            connection.send(b" " * (1 << 20))
        assert connection.answer().status == 413
        connection.expect_close()


class SlowProxy:
    """Forwards one connection, every piece 5 ms late."""

    def __init__(self, target: wire.Address) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: wire.Address = self._listener.getsockname()
        self._target = target
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "SlowProxy":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        client, _ = self._listener.accept()
        with client, socket.create_connection(self._target, wire.GUARD_S) as server:
            client.settimeout(wire.GUARD_S)
            back = threading.Thread(target=self._forward, args=[server, client])
            back.start()
            self._forward(client, server)
            back.join()

    @staticmethod
    def _forward(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 18):
                time.sleep(0.005)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


def test_after_many_refusals_nothing_is_left(small: Served) -> None:
    before = small.descriptors()
    for _ in range(50):
        with small.connect() as connection:
            connection.send(wire.request("POST", TARGET, b"x" * (2 << 20)))
            assert connection.answer().status == 413
    wire.wait_for(lambda: small.descriptors() <= before, "connections are closed")
    assert small.metric("asio_infer_inflight_bytes") < 4096
    small.canary()
