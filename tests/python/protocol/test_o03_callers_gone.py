"""A caller that has gone costs nothing more: its request leaves the queue, its run is stopped, its memory is freed."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import wire
from queues import FOREVER_S, ask_of, row_of, running, slow, wait_nothing_held, wait_running, wait_waiting
from servers import ADD, Model, Served, StartServer

pytestmark = pytest.mark.usefixtures("nothing_is_left")

HUGE = 100 << 20


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Served]:
    """Models whose runs last 0.6 s, for ever, or for ever in the runtime."""
    served: list[Model] = [
        {"name": "add", "model": str(models / "add.onnx")},
        {"name": "loop", "model": str(models / "loop.onnx"), "batching": None},
        slow("brief", 0.6),
        slow("forever", FOREVER_S),
        slow("together", 0.6, batching={"max_size": 8, "max_delay_s": 0.1}),
        {"name": "echo", "identity": {"shape": [-1, -1]}},
    ]
    with Served(served, limits={"max_body_bytes": HUGE + 4096, "inflight_bytes": 4 * HUGE}) as server:
        yield server
        assert server.stop() == ""


def close(connection: wire.Connection) -> None:
    connection.socket.close()


ENDS: dict[str, Callable[[wire.Connection], None]] = {"close": close, "reset": wire.Connection.reset}
every_end = pytest.mark.parametrize("leave", ENDS.values(), ids=ENDS.keys())


# ---- Requests that wait


@every_end
def test_of_fifty_that_wait_only_those_run_whose_clients_are_there(
    leave: Callable[[wire.Connection], None], server: Served
) -> None:
    before = server.executions("brief")
    with server.connect() as plug, server.connect() as stays, server.connect() as half:
        plug.send(ask_of("brief"))
        wait_running(server, "brief", 1)
        gone = [server.connect() for _ in range(48)]
        for connection in gone:
            connection.send(ask_of("brief"))
        stays.send(ask_of("brief", 2.5))
        half.send(ask_of("brief", 3.5))
        wait_waiting(server, "brief", 50)
        half.finish()
        for connection in gone:
            leave(connection)
        wait_waiting(server, "brief", 2)
        assert running(server, "brief") == 1, "they left the queue before the plug's run was over"
        assert row_of(plug.answer()) == 1.5
        assert row_of(stays.answer()) == 2.5
        assert row_of(half.answer(skip_continue=True)) == 3.5
    assert server.executions("brief") - before == 3


@every_end
def test_a_pipeline_whose_client_leaves_is_dropped_whole(
    leave: Callable[[wire.Connection], None], server: Served
) -> None:
    before = server.executions("brief")
    with server.connect() as plug:
        plug.send(ask_of("brief"))
        wait_running(server, "brief", 1)
        gone = server.connect()
        gone.send(ask_of("brief") * 20)
        wait_waiting(server, "brief", 20)
        leave(gone)
        wait_waiting(server, "brief", 0)
        assert row_of(plug.answer()) == 1.5
    assert server.executions("brief") - before == 1


def test_every_request_of_a_half_closed_pipeline_is_answered(server: Served) -> None:
    with server.connect() as connection:
        connection.send(ask_of("together", 1.5) + ADD + ask_of("together", 2.5))
        connection.finish()
        assert row_of(connection.answer(skip_continue=True)) == 1.5
        assert connection.answer(skip_continue=True).outputs()["Y"].tolist() == [[11, 22, 33, 44]]
        assert row_of(connection.answer(skip_continue=True)) == 2.5
        connection.expect_close()


def test_an_http_1_0_client_that_half_closes_sees_no_interim_answer(server: Served) -> None:
    with server.connect() as connection:
        connection.send(ask_of("brief").replace(b"HTTP/1.1", b"HTTP/1.0"))
        connection.finish()
        assert row_of(connection.answer()) == 1.5
        connection.expect_close()


def test_at_most_one_interim_answer_comes_for_a_half_closed_request(server: Served) -> None:
    with server.connect() as connection:
        connection.send(ask_of("brief"))
        connection.finish()
        answers = connection.rest()
    assert answers.count(b"HTTP/1.1 100 ") <= 1
    (answer,) = wire.split_answers(answers)
    assert row_of(answer) == 1.5


# ---- Requests that run


@every_end
def test_a_run_that_nobody_waits_for_is_stopped(leave: Callable[[wire.Connection], None], server: Served) -> None:
    connection = server.connect()
    connection.send(ask_of("forever"))
    wait_running(server, "forever", 1)
    leave(connection)
    wait_running(server, "forever", 0)


@every_end
def test_a_run_in_the_runtime_is_stopped(leave: Callable[[wire.Connection], None], server: Served) -> None:
    connection = server.connect()
    connection.send(wire.infer("loop", [wire.tensor("ITERS", [10**9], "INT64")]))
    wait_running(server, "loop", 1)
    leave(connection)
    wait_running(server, "loop", 0)
    few = server.infer("loop", [wire.tensor("ITERS", [3], "INT64")])
    assert few.outputs()["DONE"].tolist() == [3]


def test_after_a_stopped_run_the_next_in_the_queue_runs(server: Served) -> None:
    first, second = server.connect(), server.connect()
    first.send(ask_of("forever"))
    wait_running(server, "forever", 1)
    second.send(ask_of("forever"))
    wait_waiting(server, "forever", 1)
    before = server.executions("forever")
    first.reset()
    wait_waiting(server, "forever", 0)
    assert running(server, "forever") == 1
    second.reset()
    wait_running(server, "forever", 0)
    assert server.executions("forever") - before <= 2


def test_a_batch_goes_on_for_the_members_that_stay(server: Served) -> None:
    before = server.executions("together")
    with server.connect() as first, server.connect() as last:
        gone = server.connect()
        first.send(ask_of("together", 2.5))
        gone.send(ask_of("together", 3.5))
        last.send(ask_of("together", 4.5))
        wait_running(server, "together", 3)
        gone.reset()
        assert row_of(first.answer()) == 2.5
        assert row_of(last.answer()) == 4.5
    assert server.executions("together") - before == 1


def test_a_batch_that_all_members_leave_is_stopped(server: Served) -> None:
    gone = [server.connect() for _ in range(4)]
    for connection in gone:
        connection.send(ask_of("together"))
    wait_running(server, "together", 4)
    for connection in gone:
        connection.reset()
    wait_nothing_held(server)


def test_callers_that_leave_are_counted_as_such(server: Served) -> None:
    def cancelled() -> float:
        return server.metric("nv_inference_request_failure", model="forever", reason="CANCELED")

    before = cancelled()
    with server.connect() as runs:
        runs.send(ask_of("forever"))
        wait_running(server, "forever", 1)
        waits = server.connect()
        waits.send(ask_of("forever"))
        wait_waiting(server, "forever", 1)
        waits.reset()
        wait_waiting(server, "forever", 0)
        assert cancelled() == before + 1
        runs.reset()
    wire.wait_for(lambda: cancelled() == before + 2, "each is counted once", 10)
    wait_running(server, "forever", 0)
    assert cancelled() == before + 2


# ---- Bytes on the way


def large_tensor(size: int) -> np.ndarray:
    return np.zeros((1, size // 4), np.float32)


def large_request(size: int) -> bytes:
    x = large_tensor(size)
    tensor = wire.binary_tensor("INPUT0", x.tobytes(), x.shape)
    return wire.infer("echo", [tensor], x.tobytes(), parameters={"binary_data_output": True})


@every_end
def test_an_upload_that_is_given_up_is_forgotten(leave: Callable[[wire.Connection], None], server: Served) -> None:
    data = large_request(20 << 20)
    whole = server.metric("asio_infer_inflight_bytes")
    connection = server.connect()
    connection.send(data[: 10 << 20])
    wire.wait_for(lambda: server.metric("asio_infer_inflight_bytes") > whole + (8 << 20), "half of it is there")
    leave(connection)
    wait_nothing_held(server)


@pytest.mark.parametrize("part", [pytest.param(0, marks=pytest.mark.soak), 1 << 20])
def test_a_huge_answer_that_is_not_read_to_its_end_is_forgotten(part: int, server: Served) -> None:
    data = large_request(HUGE)
    with server.connect() as connection:  # once for memory that stays, such as the allocator's
        assert len(connection.ask(data).body) > HUGE
    wait_nothing_held(server)
    before = server.resident()
    for _ in range(3):
        connection = server.connect(receive_buffer=65536)
        connection.send(data)
        connection.socket.recv(1)
        while part > 0:
            part -= len(connection.socket.recv(min(part, 1 << 16)))
        connection.reset()
        wait_nothing_held(server)
    wire.wait_for(lambda: server.resident() - before < 32 << 20, "its memory is freed", 10)


# ---- The end


def test_a_server_whose_callers_have_gone_stops_at_once(start_server: StartServer) -> None:
    server = start_server(slow("forever", FOREVER_S), {"name": "add", "identity": {}})
    gone = [server.connect() for _ in range(20)]
    for connection in gone:
        connection.send(ask_of("forever"))
    wait_running(server, "forever", 1)
    wait_waiting(server, "forever", 19)
    began = time.monotonic()
    for connection in gone:
        connection.reset()
    assert server.stop() == ""
    assert time.monotonic() - began < 5  # far below its drain of 30 s


def test_callers_that_leave_at_random_moments(server: Served) -> None:
    """Half of their requests are whole; half of the time these have reached a run or a queue before they leave."""
    rng = np.random.default_rng(3)
    requests = [ADD, ask_of("forever"), ask_of("together"), large_request(1 << 20)]
    before = server.metric("nv_inference_request_failure", reason="CANCELED")
    for _ in range(100):
        gone = [server.connect() for _ in range(20)]
        for connection in gone:
            data = requests[rng.integers(len(requests))]
            connection.send(data if rng.integers(2) else data[: rng.integers(1, len(data))])
        if rng.integers(2):
            server.canary()
        for connection in gone:
            list(ENDS.values())[rng.integers(len(ENDS))](connection)
    wait_nothing_held(server)
    assert server.metric("nv_inference_request_failure", reason="CANCELED") - before > 100
