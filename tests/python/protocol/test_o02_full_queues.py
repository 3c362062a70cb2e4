"""A full queue: as many requests wait as it says, the others are refused at once and told when to come again."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire
from queues import (
    FOREVER_S,
    ask_of,
    row_of,
    slow,
    wait_running,
    wait_waiting,
    waiting,
)
from servers import Served

pytestmark = pytest.mark.usefixtures("nothing_is_left")

PLACES = 4
SENT = 12
BODY_BYTES = 20 << 20


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Served]:
    queue = {"max_size": PLACES}
    served = [
        {"name": "add", "model": str(models / "add.onnx")},
        slow("alone", 0.6, queue=queue),
        slow("batched", 0.6, queue=queue, batching={"max_size": 8}),
        slow("forever", FOREVER_S, queue=queue),
    ]
    with Served(served) as server:
        yield server
        assert server.stop() == ""


def check_refusal(answer: wire.Answer) -> None:
    assert answer.status == 429
    assert int(answer.headers["retry-after"]) >= 1
    assert "full" in answer.error()
    assert answer.headers.get("connection") != "close", "the request was complete: the connection stays"


@pytest.mark.parametrize("spacing_s", [0, pytest.param(0.02, marks=pytest.mark.soak)])
@pytest.mark.parametrize("model", [pytest.param("alone", marks=pytest.mark.soak), "batched"])
def test_exactly_as_many_wait_as_there_are_places(model: str, spacing_s: float, server: Served) -> None:
    with server.connect() as plug:
        plug.send(ask_of(model))
        wait_running(server, model, 1)
        callers = [server.connect() for _ in range(SENT)]
        for number, caller in enumerate(callers):
            caller.send(ask_of(model, number + 2.5))
            time.sleep(spacing_s)
        wire.wait_for(lambda: waiting(server, model) == PLACES, "the queue is full")
        answers = [caller.answer() for caller in callers]
        refused = [answer for answer in answers if answer.status != 200]
        assert len(refused) == SENT - PLACES
        for answer in refused:
            check_refusal(answer)
        rows = [row_of(answer) for answer in answers if answer.status == 200]
        assert len(rows) == PLACES
        assert row_of(plug.answer()) == 1.5
        for caller, answer in zip(callers, answers, strict=True):  # all of them may come again
            if answer.status != 200:
                assert row_of(caller.ask(ask_of(model, 9.5))) == 9.5
                break
        for caller in callers:
            caller.socket.close()


def test_a_refusal_is_quick(server: Served) -> None:
    """The median of many counts: a single one may meet a busy machine."""
    with server.connect() as plug, server.connect() as others, server.connect() as caller:
        plug.send(ask_of("forever"))
        wait_running(server, "forever", 1)
        others.send(ask_of("forever") * PLACES)
        wait_waiting(server, "forever", PLACES)
        times = []
        for _ in range(100):
            began = time.monotonic()
            check_refusal(caller.ask(ask_of("forever")))
            times.append(time.monotonic() - began)
        assert sorted(times)[50] < 0.02
        plug.reset()
        others.reset()


@pytest.mark.parametrize("pipelined", [False, True], ids=["many connections", "one pipeline"])
def test_refused_bodies_of_twenty_mebibytes_are_given_back(pipelined: bool, server: Served) -> None:
    x = bytes(BODY_BYTES)
    tensor = wire.binary_tensor("INPUT0", x, [1, len(x) // 4])
    large = wire.infer("forever", [tensor], x)
    with server.connect() as plug, server.connect() as others:
        plug.send(ask_of("forever"))
        wait_running(server, "forever", 1)
        others.send(ask_of("forever") * PLACES)
        wait_waiting(server, "forever", PLACES)
        with server.connect() as caller:  # once for memory that stays, such as the allocator's
            check_refusal(caller.ask(large))
        before = server.resident()
        callers = [server.connect() for _ in range(1 if pipelined else 4)]
        for caller in itertools.islice(itertools.cycle(callers), 4):
            check_refusal(caller.ask(large))
        for caller in callers:
            caller.socket.close()
        wire.wait_for(lambda: server.metric("asio_infer_inflight_bytes") < 1 << 20, "the bodies are given back", 10)
        wire.wait_for(lambda: server.resident() - before < BODY_BYTES, "and their memory", 10)
        assert waiting(server, "forever") == PLACES
        plug.reset()
        others.reset()


def test_a_place_whose_caller_left_is_free_at_once(server: Served) -> None:
    with server.connect() as plug:
        plug.send(ask_of("forever"))
        wait_running(server, "forever", 1)
        callers = [server.connect() for _ in range(PLACES)]
        for caller in callers:
            caller.send(ask_of("forever"))
        wait_waiting(server, "forever", PLACES)
        check_refusal(server.ask(ask_of("forever")))
        callers[1].reset()
        wait_waiting(server, "forever", PLACES - 1)
        with server.connect() as next_one:
            next_one.send(ask_of("forever"))
            wait_waiting(server, "forever", PLACES)
            check_refusal(server.ask(ask_of("forever")))
            next_one.reset()
        for caller in callers:
            caller.socket.close()
        plug.reset()


def test_a_place_whose_time_ran_out_is_free_at_once(server: Served) -> None:
    with server.connect() as plug, server.connect() as others:
        plug.send(ask_of("forever"))
        wait_running(server, "forever", 1)
        others.send(ask_of("forever", parameters={"timeout": 300_000}) * PLACES)
        wait_waiting(server, "forever", PLACES)
        check_refusal(server.ask(ask_of("forever")))
        assert [others.answer().status for _ in range(PLACES)] == [504] * PLACES
        assert waiting(server, "forever") == 0
        with server.connect() as next_one:
            next_one.send(ask_of("forever"))
            wait_waiting(server, "forever", 1)
            next_one.reset()
        plug.reset()


def test_one_full_queue_leaves_the_others_alone(server: Served) -> None:
    with server.connect() as plug:
        plug.send(ask_of("forever") * (1 + PLACES))
        wait_waiting(server, "forever", PLACES)
        check_refusal(server.ask(ask_of("forever")))
        assert row_of(server.ask(ask_of("alone", 2.5))) == 2.5
        server.canary()
        plug.reset()


def test_each_refusal_is_counted_once(server: Served) -> None:
    def rejected() -> float:
        return server.metric("nv_inference_request_failure", model="forever", reason="REJECTED")

    with server.connect() as plug:
        plug.send(ask_of("forever") * (1 + PLACES))
        wait_waiting(server, "forever", PLACES)
        before = rejected()
        for _ in range(7):
            check_refusal(server.ask(ask_of("forever")))
        assert rejected() == before + 7
        plug.reset()


def test_the_time_to_come_again_follows_the_speed_of_the_model(server: Served) -> None:
    """With runs of 0.6 s four places take more than two seconds to become free."""
    for _ in range(2):  # the rate has to be known
        assert server.ask(ask_of("alone")).status == 200
    with server.connect() as plug:
        plug.send(ask_of("alone") * (1 + PLACES))
        wait_waiting(server, "alone", PLACES)
        answer = server.ask(ask_of("alone"))
        check_refusal(answer)
        assert 2 <= int(answer.headers["retry-after"]) <= 10
        plug.reset()
