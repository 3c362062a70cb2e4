"""Clients that are slow, idle or too many: each kind has its own limit, and those beside them are served as ever."""

import contextlib
import os
import select
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire
from queues import ask_of, row_of, wait_nothing_held
from servers import ADD, Model, Served, StartServer

pytestmark = pytest.mark.usefixtures("nothing_is_left")

LIVE = wire.request("GET", "/v2/health/live")
LIMIT_S = 0.5
PACE_S = 0.05
"""Between two pieces of a slow client: many of them fit into a limit, so that only the whole counts."""
LIMITS = {f"{name}_timeout_s": LIMIT_S for name in ("header", "body_progress", "idle", "write_progress")}
CLOSED = (wire.ClosedEarly, ConnectionResetError, BrokenPipeError)


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Served]:
    served: list[Model] = [
        {"name": "add", "model": str(models / "add.onnx")},
        {"name": "echo", "identity": {"shape": [-1, -1]}},
    ]
    with Served(served, limits=LIMITS) as server:
        yield server
        assert server.stop() == ""


def binary_echo(size: int) -> bytes:
    x = bytes(size)
    tensor = wire.binary_tensor("INPUT0", x, [1, size // 4])
    return wire.infer("echo", [tensor], x, parameters={"binary_data_output": True})


def trickle(connection: wire.Connection, data: bytes, size: int) -> bool:
    """Send pieces of this size, one in `PACE_S`, until the server says something; whether it did before the end."""
    for start in range(0, len(data), size):
        with contextlib.suppress(*CLOSED):
            connection.send(data[start : start + size])
        if select.select([connection.socket], [], [], PACE_S)[0]:
            return True
    return False


def check_timed_out(connection: wire.Connection) -> None:
    answer = connection.answer()
    assert answer.status == 408
    answer.error()
    assert answer.headers["connection"] == "close"
    connection.finish()
    connection.expect_close()


# ---- Slow senders


@pytest.mark.parametrize(
    "data",
    [wire.request("GET", "/v2/health/live", headers=[("X", "x" * 200)]), b"\r\n" * 100, ADD[: ADD.find(b"\r\n\r\n")]],
    ids=["header", "empty lines", "header of a body"],
)
def test_a_header_byte_by_byte_must_come_in_its_time(data: bytes, server: Served) -> None:
    with server.connect() as connection:
        assert trickle(connection, data, 1)
        if data.startswith(b"\r\n"):
            with contextlib.suppress(wire.ClosedEarly):
                check_timed_out(connection)
        else:
            check_timed_out(connection)


@pytest.mark.parametrize("form", ["length", "chunks", "chunk extension"])
def test_a_body_byte_by_byte_is_given_up(form: str, server: Served) -> None:
    body = ADD.split(b"\r\n\r\n", 1)[1] + b" " * 200
    data = {
        "length": wire.request("POST", "/v2/models/add/infer", body),
        "chunks": wire.chunked("POST", "/v2/models/add/infer", [bytes([byte]) for byte in body]),
        "chunk extension": wire.chunked("POST", "/v2/models/add/infer", [body], extension=";x=" + "y" * 200),
    }[form]
    head, rest = data.split(b"\r\n\r\n", 1)
    with server.connect() as connection:
        connection.send(head + b"\r\n\r\n")
        assert trickle(connection, rest, 1)
        check_timed_out(connection)


@pytest.mark.parametrize("form", ["length", pytest.param("chunks", marks=pytest.mark.soak)])
def test_a_slow_upload_above_the_least_rate_may_take_its_time(form: str, server: Served) -> None:
    """It takes three times as long as a body may pause."""
    body = ADD.split(b"\r\n\r\n", 1)[1]
    body += b" " * (4096 * int(3 * LIMIT_S / PACE_S) - len(body))
    data = wire.request("POST", "/v2/models/add/infer", body)
    if form == "chunks":
        data = wire.chunked("POST", "/v2/models/add/infer", [body[i : i + 4096] for i in range(0, len(body), 4096)])
    with server.connect() as connection:
        trickle(connection, data, 4096)
        assert connection.answer().outputs()["Y"].tolist() == [[11, 22, 33, 44]]


# ---- Slow readers


def test_an_answer_read_byte_by_byte_is_given_up(server: Served) -> None:
    with server.connect(receive_buffer=4096) as connection:
        connection.send(binary_echo(16 << 20))
        wire.wait_for(lambda: server.metric("asio_infer_sent_bytes_total") > 0, "the answer comes")
        read_slowly_until_freed(connection, server)
    wait_nothing_held(server)


def read_slowly_until_freed(connection: wire.Connection, server: Served) -> None:
    guard = time.monotonic() + 15
    connection.socket.recv(1)
    while server.metric("asio_infer_inflight_bytes") > 4096:
        assert time.monotonic() < guard, "a reader of single bytes holds the whole answer"
        with contextlib.suppress(ConnectionResetError):
            connection.socket.recv(1)
        time.sleep(PACE_S)


def test_a_slow_reader_above_the_least_rate_gets_everything(server: Served) -> None:
    size = 12 << 20
    with server.connect(receive_buffer=65536) as connection:
        connection.send(binary_echo(size))
        end = time.monotonic() + 3 * LIMIT_S
        while time.monotonic() < end:
            connection._got += connection.socket.recv(1 << 15)
            time.sleep(PACE_S)
        assert connection.answer().outputs()["OUTPUT0"].nbytes == size


# ---- Idle connections


def test_how_long_a_connection_may_be_idle_is_said(start_server: StartServer) -> None:
    server = start_server({"name": "add", "identity": {}})
    with server.connect() as connection:
        assert connection.ask(LIVE).headers["keep-alive"] == "timeout=75"


def test_a_request_at_the_end_of_the_idle_time_is_answered_or_never_received(server: Served) -> None:
    """What runs is answered: a connection is not closed as idle with a request in it."""
    before = server.executions("echo")
    outcomes: list[int] = []

    def reuse(offset_s: float) -> None:
        with server.connect() as connection:
            connection.ask(LIVE)
            time.sleep(max(LIMIT_S + offset_s, 0))
            try:
                outcomes.append(int(row_of(connection.ask(ask_of("echo")))))
            except CLOSED:
                outcomes.append(0)

    threads = [threading.Thread(target=reuse, args=[step / 100]) for step in range(-10, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == len(threads)
    assert 0 < sum(outcomes) < len(threads), "the end of the idle time was met from both sides"
    assert server.executions("echo") - before == sum(outcomes)


# ---- Very many of them


def cpu_seconds(server: Served) -> float:
    fields = Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_three_hundred_slow_clients_disturb_nobody(server: Served) -> None:
    before = server.descriptors()
    halves = [LIVE[:-2], b"P", ADD[:-1], wire.chunked("POST", "/v2/models/add/infer", [b"x"])[:-3]]
    slow = [server.connect() for _ in range(300)]
    for number, connection in enumerate(slow):
        connection.send(halves[number % len(halves)])
    times = []
    with server.connect() as good:
        for _ in range(200):
            began = time.monotonic()
            assert good.ask(ADD).status == 200
            times.append(time.monotonic() - began)
    assert sorted(times)[len(times) // 2] < 0.05
    for connection in slow:
        check_timed_out(connection)
        connection.socket.close()
    wire.wait_for(lambda: server.descriptors() <= before, "their descriptors are closed", 10)


@pytest.fixture(scope="module")
def few_descriptors(models: Path) -> Iterator[Served]:
    """A server that may open 64 files."""
    served = [{"name": "add", "model": str(models / "add.onnx")}]
    with Served(served, command=("prlimit", "--nofile=64"), log="warning") as server:
        yield server


def test_more_connections_than_descriptors(few_descriptors: Served) -> None:
    """Those that have one are served; the rest waits without costing anything, and is taken when there is room."""
    server = few_descriptors
    with server.connect() as old:
        old.ask(ADD)
        waiting = [server.connect() for _ in range(200)]
        wire.wait_for(lambda: server.descriptors() >= 60, "no descriptor is left")
        began, spent = time.monotonic(), cpu_seconds(server)
        served = 0
        while time.monotonic() < began + 2:
            assert old.ask(ADD).outputs()["Y"].tolist() == [[11, 22, 33, 44]]
            served += 1
            time.sleep(0.02)
        share = (cpu_seconds(server) - spent) / (time.monotonic() - began)
        assert served > 10
        assert share < 0.2
        for connection in waiting:
            connection.socket.close()
        freed = time.monotonic()
        server.canary()
        assert time.monotonic() - freed < 3
    wire.wait_for(lambda: server.metric("asio_infer_connections_open") == 1, "all have ended", 10)
    log = server.stop()
    assert 1 <= len(log.splitlines()) <= 10, log


def test_idle_connections_cost_no_processor_time(start_server: StartServer) -> None:
    server = start_server({"name": "add", "identity": {}})
    idle = [server.connect() for _ in range(500)]
    for connection in idle:
        connection.ask(LIVE)
    began, spent = time.monotonic(), cpu_seconds(server)
    time.sleep(1)
    assert (cpu_seconds(server) - spent) / (time.monotonic() - began) < 0.1
    for connection in idle:
        connection.socket.close()
