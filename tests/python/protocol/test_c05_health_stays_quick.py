"""Whatever is full, busy or being read, health and metrics answer: no network thread waits for any of it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import wire
from queues import FOREVER_S, ask_of, slow, wait_running, wait_waiting
from servers import Model, Served

pytestmark = pytest.mark.usefixtures("nothing_is_left")

INFLIGHT = 512 << 20
LIVE = wire.request("GET", "/v2/health/live")
METRICS = wire.request("GET", "/metrics")


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Served]:
    served: list[Model] = [
        {"name": "add", "model": str(models / "add.onnx")},
        {"name": "echo", "identity": {"shape": [-1, -1]}},
        slow("forever", FOREVER_S, queue={"max_size": 4}, instances=2),
        {"name": "loop", "model": str(models / "loop.onnx"), "batching": None},
    ]
    with Served(served, limits={"inflight_bytes": INFLIGHT}, server={"io_threads": 1}) as server:
        yield server
        assert server.stop() == ""


class Probe(threading.Thread):
    """Asks for health and metrics on one old connection twenty times a second, and keeps how long each took."""

    def __init__(self, server: Served) -> None:
        super().__init__()
        self._server = server
        self._done = threading.Event()
        self.times: list[float] = []
        self._late: list[float] = []
        """How much longer than asked for each pause took: what this machine does to anyone now."""

    def run(self) -> None:
        with self._server.connect() as connection:
            paused = time.monotonic()
            while not self._done.wait(0.05):
                self._late.append(time.monotonic() - paused - 0.05)
                for data in (LIVE, METRICS):
                    began = time.monotonic()
                    if connection.ask(data).status == 200:
                        self.times.append(time.monotonic() - began)
                paused = time.monotonic()

    def finish(self) -> None:
        """The machine is shared with the clients that make the load: a few answers may be late, most not."""
        self._done.set()
        self.join()
        times, late = sorted(self.times), sorted(self._late)
        assert len(times) >= 10
        assert times[len(times) // 2] < 0.05 + 4 * late[len(late) // 2], (times, late)
        assert times[-1] < 1.0 + 4 * late[-1], (times, late)


@pytest.fixture
def probe(server: Served) -> Iterator[Probe]:
    probe = Probe(server)
    probe.start()
    yield probe
    probe.finish()


def at_least(probe: Probe, more: int) -> None:
    wanted = len(probe.times) + more
    wire.wait_for(lambda: len(probe.times) >= wanted, f"{more} more answers")


def in_threads(*jobs: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    return threads


def test_while_instances_are_busy_and_queues_are_full(server: Served, probe: Probe) -> None:
    with ExitStack() as stack:
        held = [stack.enter_context(server.connect()) for _ in range(6)]
        for connection in held:
            connection.send(ask_of("forever"))
        wait_running(server, "forever", 2)
        wait_waiting(server, "forever", 4)
        with server.connect() as connection:
            for _ in range(200):
                assert connection.ask(ask_of("forever")).status == 429
        at_least(probe, 20)
        for connection in held:
            connection.reset()


def test_while_the_runtime_computes(server: Served, probe: Probe) -> None:
    connection = server.connect()
    connection.send(wire.infer("loop", [wire.tensor("ITERS", [10**9], "INT64")]))
    wait_running(server, "loop", 1)
    at_least(probe, 20)
    connection.reset()


@pytest.mark.parametrize("size", [12 << 20, pytest.param(50 << 20, marks=pytest.mark.soak)])
def test_while_large_json_is_read_and_printed(size: int, server: Served, probe: Probe) -> None:
    count = size // 8
    numbers = "1.03125," * (count - 1) + "1.03125"
    inputs = f'{{"inputs":[{{"name":"INPUT0","shape":[1,{count}],"datatype":"FP32","data":[{numbers}]}}]}}'
    data = wire.infer_text("echo", inputs)
    statuses: list[int] = []
    threads = in_threads(*[lambda: statuses.append(server.ask(data).status)] * 4)
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.05)
    assert len(statuses) == 4
    assert set(statuses) <= ({200} if size < 50 << 20 else {200, 503})
    at_least(probe, 2)


def test_while_the_bytes_in_flight_are_spent(server: Served, probe: Probe) -> None:
    """Half bodies that together hold all of the budget; health needs none of it."""
    part = 60 << 20
    head = wire.request("POST", "/v2/models/echo/infer", headers=[("Content-Length", str(part))])
    with ExitStack() as stack:
        held = [stack.enter_context(server.connect()) for _ in range(INFLIGHT // part + 1)]
        filling = in_threads(*(lambda c=c: fill(c, head + b" " * (part - 1)) for c in held))
        wire.wait_for(lambda: server.metric("asio_infer_inflight_bytes") > INFLIGHT * 0.85, "it is spent")
        at_least(probe, 20)
        for connection in held:
            connection.reset()
        for thread in filling:
            thread.join()


def fill(connection: wire.Connection, data: bytes) -> None:
    """Send until the server takes no more or the connection is given up."""
    try:
        connection.send(data)
    except OSError:
        return


def test_while_very_many_pipelined_requests_come(server: Served, probe: Probe) -> None:
    batch = ask_of("echo") * 200

    def flood() -> None:
        with server.connect() as connection:
            for _ in range(10):
                connection.send(batch)
                assert {connection.answer().status for _ in range(200)} == {200}

    for thread in in_threads(*[flood] * 3):
        thread.join()
    at_least(probe, 10)
