"""Live, ready and a model's ready are three answers: through start, loads, failures and the two steps of a stop."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
import pytest
import wire
from queues import ask_of, row_of

import asio_infer as ai

LIVE = wire.request("GET", "/v2/health/live")
READY = wire.request("GET", "/v2/health/ready")
MODEL_READY = wire.request("GET", "/v2/models/slow/ready")
ONE = {"INPUT0": np.ones((1, 1), np.float32)}


@pytest.fixture
def server() -> Iterator[ai.Server]:
    with ai.Server(port=0, log=ai.Log(level="off")) as server:
        server.register("echo", ai.Identity())
        yield server


def connect(server: ai.Server) -> wire.Connection:
    return wire.Connection(("127.0.0.1", server.port))


def kept_alive(server: ai.Server) -> wire.Connection:
    """A connection that has been used and is idle."""
    connection = connect(server)
    assert connection.ask(READY).json() == {"ready": True, "live": True}
    return connection


# ---- While it serves


def test_loads_failures_swaps_and_removals_do_not_touch_live_and_ready(server: ai.Server) -> None:
    stop = threading.Event()
    seen: set[tuple[int, int]] = set()
    failures: list[BaseException] = []

    def poll() -> None:
        try:
            with connect(server) as connection:
                while not stop.is_set():
                    seen.add((connection.ask(LIVE).status, connection.ask(READY).status))
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=poll)
    thread.start()
    for _ in range(10):
        server.register("later", ai.Identity(delay_s=0.01))
        server.register("later", ai.Identity(), replace=True)
        with pytest.raises(ai.AsioInferError):
            server.register("broken", b"no model")
        with pytest.raises(ai.AlreadyExists):
            server.register("echo", ai.Identity())
        server.unregister("later")
    stop.set()
    thread.join()
    assert failures == []
    assert seen == {(200, 200)}


def test_a_model_is_ready_from_its_registration_to_its_removal(server: ai.Server) -> None:
    with connect(server) as connection:

        def status(name: str, version: str = "") -> int:
            answer = connection.ask(wire.request("GET", f"/v2/models/{name}{version}/ready"))
            if answer.status == 200:
                assert answer.json() == {"name": name, "ready": True}
            else:
                answer.error()
            return answer.status

        assert status("later") == 404
        server.register("later", ai.Identity())
        assert status("later") == status("later", "/versions/1") == 200
        assert status("later", "/versions/2") == 404
        with pytest.raises(ai.AsioInferError):
            server.register("later", b"no model", replace=True)
        assert status("later") == 200, "a load that failed replaces nothing"
        server.register("later", ai.Identity(), version=2)
        server.unregister("later", 1)
        assert status("later", "/versions/1") == 404
        assert status("later") == 200
        server.unregister("later")
        assert status("later") == 404
        with pytest.raises(ai.AsioInferError):
            server.register("broken", b"no model")
        assert status("broken") == 404


def test_a_server_without_models_is_ready() -> None:
    with ai.Server(port=0, log=ai.Log(level="off")) as server, connect(server) as connection:
        assert connection.ask(READY).json() == {"ready": True, "live": True}


# ---- While it stops


@dataclass
class Stop:
    """What became of everything around a stop that found one request running and one in the queue."""

    during: dict[str, wire.Answer] = field(default_factory=dict)
    """Answers to requests that came on old connections while the run went on."""
    ended: dict[str, wire.Answer | None] = field(default_factory=dict)
    """Answers to what had been received, whole or in part, when the stop began; None where there was none."""
    in_process: Exception | None = None
    connecting: Exception | None = None
    still_ran: bool = False
    """The run still went on when all of `during` had been answered."""


ASKED = {
    "ready": READY,
    "live": LIVE,
    "model ready": MODEL_READY,
    "metrics": wire.request("GET", "/metrics"),
    "infer": ask_of("echo"),
    "infer the busy one": ask_of("slow"),
}
RECEIVED = {
    "running": ask_of("slow", 2.5),
    "waiting": ask_of("slow", 3.5),
    "half a body": ask_of("slow")[:-5],
    "half a header": READY[:-2],
    "half a body, then its rest": ask_of("slow")[:-5],
}


def gauge(server: ai.Server, name: str) -> int:
    sample = f'{name}{{model="slow",version="1"}} '
    return next(int(float(line.split()[-1])) for line in server.metrics().splitlines() if line.startswith(sample))


def failure_of(call: Callable[[], object]) -> Exception | None:
    try:
        call()
    except Exception as failure:
        return failure
    return None


def last_answer(connection: wire.Connection) -> wire.Answer | None:
    """The answer after which the connection closes in order, or None if it only closes."""
    try:
        answer = connection.answer()
    except wire.ClosedEarly:
        assert connection._got == b""
        return None
    connection.finish()
    connection.expect_close()
    return answer


@pytest.fixture(scope="module")
def stop() -> Stop:
    found = Stop()
    with ai.Server(port=0, log=ai.Log(level="off")) as server, ExitStack() as stack:
        server.register("slow", ai.Identity(delay_s=1.0), batching=None)
        server.register("echo", ai.Identity())
        asked = {name: stack.enter_context(kept_alive(server)) for name in ASKED}
        received = {name: stack.enter_context(kept_alive(server)) for name in RECEIVED}
        idle = stack.enter_context(kept_alive(server))
        received["running"].send(RECEIVED["running"])
        wire.wait_for(lambda: gauge(server, "asio_infer_requests_running") == 1, "one runs")
        for name in list(RECEIVED)[1:]:
            received[name].send_apart(RECEIVED[name])
        wire.wait_for(lambda: gauge(server, "nv_inference_pending_request_count") == 1, "one waits")
        thread = threading.Thread(target=server.stop)
        thread.start()
        stack.callback(thread.join)
        wire.wait_for(lambda: not server.ready(), "the stop has begun")

        for name, connection in asked.items():
            connection.send(ASKED[name])
            found.during[name] = wait_for_last_answer(connection)
        received["half a body, then its rest"].send(ask_of("slow")[-5:])
        found.in_process = failure_of(lambda: server.infer("echo", ONE))
        found.connecting = failure_of(lambda: socket.create_connection(("127.0.0.1", server.port)).close())
        found.still_ran = gauge(server, "asio_infer_requests_running") == 1

        found.ended = {name: last_answer(connection) for name, connection in received.items()}
        idle.expect_close()
    return found


def wait_for_last_answer(connection: wire.Connection) -> wire.Answer:
    answer = last_answer(connection)
    assert answer is not None
    return answer


def test_all_of_it_was_seen_during_the_run(stop: Stop) -> None:
    assert stop.still_ran


def test_old_connections_learn_that_it_lives_and_is_not_ready(stop: Stop) -> None:
    assert stop.during["ready"].status == 503
    assert stop.during["live"].json() == {"live": True}
    assert stop.during["metrics"].status == 200


def test_old_connections_learn_that_no_model_is_ready(stop: Stop) -> None:
    assert stop.during["model ready"].status == 503


def test_inferences_on_old_connections_are_refused(stop: Stop) -> None:
    for name in ("infer", "infer the busy one"):
        assert stop.during[name].status == 503
        assert "stopping" in stop.during[name].error()
        assert int(stop.during[name].headers["retry-after"]) >= 1


def test_every_answer_says_that_the_connection_closes(stop: Stop) -> None:
    answers = {**stop.during, **stop.ended}
    del answers["ready"]  # readiness is false before the connections know: this one told of the stop
    assert {name for name, answer in answers.items() if answer and answer.headers.get("connection") != "close"} == set()


def test_what_was_received_is_answered(stop: Stop) -> None:
    for name, row in (("running", 2.5), ("waiting", 3.5)):
        answer = stop.ended[name]
        assert answer is not None
        assert row_of(answer) == row


@pytest.mark.parametrize("name", ["half a body", "half a body, then its rest"])
def test_what_was_half_received_is_refused(name: str, stop: Stop) -> None:
    answer = stop.ended[name]
    assert answer is not None
    assert answer.status == 503
    answer.error()


def test_half_a_header_is_refused_or_dropped(stop: Stop) -> None:
    answer = stop.ended["half a header"]
    assert answer is None or answer.status == 503


def test_new_callers_are_refused(stop: Stop) -> None:
    assert isinstance(stop.in_process, ai.Unavailable)
    assert isinstance(stop.connecting, ConnectionRefusedError)


def test_it_may_start_again_and_is_ready_again(server: ai.Server) -> None:
    for _ in range(3):
        server.stop()
        assert not server.ready()
        server.start()
        with kept_alive(server) as connection:
            assert row_of(connection.ask(ask_of("echo", 2.5))) == 2.5
