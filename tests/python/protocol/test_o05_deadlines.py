"""A request's time runs out when it said so: in the queue, in a run, in a batch; and the work behind it ends too."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire
from queues import FOREVER_S, ask_of, row_of, running, slow, wait_running, wait_waiting
from servers import Model, Served

pytestmark = pytest.mark.usefixtures("nothing_is_left")

SOON = {"timeout": 300_000}
"""Microseconds: long enough to be seen running."""


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Served]:
    served: list[Model] = [
        {"name": "add", "model": str(models / "add.onnx")},
        {"name": "loop", "model": str(models / "loop.onnx"), "batching": None},
        {"name": "echo", "identity": {"shape": [-1, -1]}},
        slow("second", 0.5),
        slow("forever", FOREVER_S),
        slow("impatient", 0.6, queue={"max_size": 8, "timeout_s": 0.2}),
        slow("together", 0.7, batching={"max_size": 8, "max_delay_s": 0.1}),
    ]
    with Served(served) as server:
        yield server
        assert server.stop() == ""


def check_late(answer: wire.Answer) -> None:
    assert answer.status == 504, answer.body
    assert "time" in answer.error()
    assert "retry-after" not in answer.headers


# ---- In a run


def test_a_run_ends_with_its_request_s_time(server: Served) -> None:
    check_late(server.ask(ask_of("forever", parameters=SOON)))
    wait_running(server, "forever", 0)


def test_a_run_in_the_runtime_ends_with_its_request_s_time(server: Served) -> None:
    check_late(server.infer("loop", [wire.tensor("ITERS", [10**9], "INT64")], parameters=SOON))
    wait_running(server, "loop", 0)
    assert server.infer("loop", [wire.tensor("ITERS", [3], "INT64")]).outputs()["DONE"].tolist() == [3]


def test_the_connection_stays_behind_a_request_that_was_late(server: Served) -> None:
    with server.connect() as connection:
        check_late(connection.ask(ask_of("forever", parameters=SOON)))
        assert row_of(connection.ask(ask_of("echo", 2.5))) == 2.5


def test_the_members_of_a_batch_have_their_own_times(server: Served) -> None:
    before = server.executions("together")
    with server.connect() as first, server.connect() as late, server.connect() as last:
        first.send(ask_of("together", 2.5))
        late.send(ask_of("together", 3.5, parameters=SOON))
        last.send(ask_of("together", 4.5, parameters={"timeout": 30_000_000}))
        wait_running(server, "together", 3)
        check_late(late.answer())
        assert running(server, "together") >= 2, "the batch runs on for the others"
        assert row_of(first.answer()) == 2.5
        assert row_of(last.answer()) == 4.5
    assert server.executions("together") - before == 1


def test_the_next_request_runs_when_a_late_one_has_ended(server: Served) -> None:
    with server.connect() as late, server.connect() as other:
        late.send(ask_of("forever", parameters=SOON))
        wait_running(server, "forever", 1)
        other.send(ask_of("forever", parameters={"timeout": 900_000}))
        check_late(late.answer())
        wait_waiting(server, "forever", 0)
        check_late(other.answer())


def test_late_runs_are_counted_once(server: Served) -> None:
    def rejected() -> float:
        return server.metric("nv_inference_request_failure", model="forever", reason="REJECTED")

    before, failures = rejected(), server.metric("nv_inference_request_failure", model="forever")
    check_late(server.ask(ask_of("forever", parameters=SOON)))
    wait_running(server, "forever", 0)
    assert rejected() == before + 1
    assert server.metric("nv_inference_request_failure", model="forever") == failures + 1


# ---- In the queue


def test_the_queue_s_time_runs_out_while_the_device_is_busy(server: Served) -> None:
    with server.connect() as plug, server.connect() as caller:
        plug.send(ask_of("impatient"))
        wait_running(server, "impatient", 1)
        check_late(caller.ask(ask_of("impatient")))
        assert running(server, "impatient") == 1, "it did not wait for the run"
        assert row_of(plug.answer()) == 1.5


def test_the_queue_s_time_does_not_cut_a_run(server: Served) -> None:
    assert row_of(server.ask(ask_of("impatient", 2.5))) == 2.5


@pytest.mark.parametrize("timeout", [0, 2**62, pytest.param(20_000_000, marks=pytest.mark.soak)])
def test_a_request_cannot_lengthen_the_queue_s_time(timeout: int, server: Served) -> None:
    with server.connect() as plug, server.connect() as caller:
        plug.send(ask_of("impatient"))
        wait_running(server, "impatient", 1)
        check_late(caller.ask(ask_of("impatient", parameters={"timeout": timeout})))
        assert running(server, "impatient") == 1
        assert row_of(plug.answer()) == 1.5


def test_a_request_s_own_time_in_the_queue(server: Served) -> None:
    with server.connect() as plug, server.connect() as caller:
        plug.send(ask_of("second"))
        wait_running(server, "second", 1)
        check_late(caller.ask(ask_of("second", parameters={"timeout": 1})))
        assert running(server, "second") == 1
        assert row_of(plug.answer()) == 1.5


def test_what_is_late_in_the_queue_never_runs(server: Served) -> None:
    before = server.executions("second")
    with server.connect() as plug, server.connect() as caller:
        plug.send(ask_of("second"))
        wait_running(server, "second", 1)
        caller.send(ask_of("second", parameters={"timeout": 1000}) * 5)
        for _ in range(5):
            check_late(caller.answer())
        assert row_of(plug.answer()) == 1.5
    assert server.executions("second") == before + 1


# ---- Numbers


@pytest.mark.parametrize(
    ("model", "timeout"),
    [("echo", 2**31), ("echo", 2**32), ("echo", 2**53), ("echo", 2**62), ("second", 2**63 - 1)],
)
def test_a_very_long_time_does_not_wrap(model: str, timeout: int, server: Served) -> None:
    assert row_of(server.ask(ask_of(model, 2.5, parameters={"timeout": timeout}))) == 2.5


@pytest.mark.parametrize("timeout", [2**63, 2**64 - 1, 2**64, 10**30])
def test_a_time_that_no_number_holds_is_endless_or_refused(timeout: int, server: Served) -> None:
    answer = server.ask(ask_of("echo", 2.5, parameters={"timeout": timeout}))
    if answer.status != 200:
        assert answer.status == 400
        assert "timeout" in answer.error()


@pytest.mark.parametrize("timeout", [-1, -(2**63), 1.5, "1", True, None, [1], {}, 1e300])
def test_a_time_that_is_none_is_refused_by_name(timeout: object, server: Served) -> None:
    answer = server.ask(ask_of("echo", parameters={"timeout": timeout}))
    assert answer.status == 400
    assert "timeout" in answer.error()


@pytest.mark.parametrize("text", ["4e5", "400000.0", "0.4e6"])
def test_a_time_may_be_written_as_any_integral_number(text: str, server: Served) -> None:
    body = json.dumps({"parameters": {"timeout": 12345}, "inputs": [wire.tensor("INPUT0", [[2.5]])]})
    check_late(server.ask(wire.infer_text("forever", body.replace("12345", text))))
