"""One of each failure, over HTTP and in the process: each adds one under one reason, and all of them add up."""

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
import wire
from prometheus_client.parser import text_string_to_metric_families
from queues import FOREVER_S, ask_of, row_of

import asio_infer as ai

REASONS = ("REJECTED", "CANCELED", "BACKEND", "OTHER")
SOON = {"timeout": 200_000}
ONE = {"INPUT0": np.ones((1, 1), np.float32)}
BAD_ROW = {"INPUT0": np.full((1, 1), 99, np.float32)}


@dataclass
class Counted:
    """A running server with `quick`, whose rows of 99 fail, and `forever`, which ends only when it is stopped."""

    server: ai.Server

    def connect(self) -> wire.Connection:
        return wire.Connection(("127.0.0.1", self.server.port))

    def ask(self, data: bytes) -> wire.Answer:
        return wire.ask(("127.0.0.1", self.server.port), data)

    def sample(self, name: str, **labels: str) -> float:
        families = text_string_to_metric_families(self.server.metrics())
        samples = [sample for family in families for sample in family.samples]
        names = (name, f"{name}_total")  # this parser gives every counter the suffix
        found = [s.value for s in samples if s.name in names and labels.items() <= s.labels.items()]
        assert found, (name, labels)
        return sum(found)

    def counts(self, model: str) -> dict[str, float]:
        by_reason = {r: self.sample("nv_inference_request_failure", model=model, reason=r) for r in REASONS}
        return {"success": self.sample("nv_inference_request_success", model=model), **by_reason}

    def is_idle(self) -> bool:
        gauges = ("asio_infer_requests_running", "nv_inference_pending_request_count")
        return sum(self.sample(name) for name in gauges) == 0

    def wait_running(self, model: str) -> None:
        wire.wait_for(lambda: self.sample("asio_infer_requests_running", model=model) == 1, "it runs", 10)

    def wait_waiting(self, model: str, count: int) -> None:
        wire.wait_for(lambda: self.sample("nv_inference_pending_request_count", model=model) == count, "they wait", 10)


@pytest.fixture
def counted() -> Iterator[Counted]:
    with ai.Server(port=0, log=ai.Log(level="off")) as server:
        server.register("quick", ai.Identity(fail="row:99"), batching=None)
        server.register("forever", ai.Identity(delay_s=FOREVER_S), batching=None, queue=ai.Queue(max_size=2))
        server.register("batch", ai.Identity(delay_s=0.2, fail="row:99"), batching=ai.Batching(max_size=8))
        yield Counted(server)


def check_growth(counted: Counted, model: str, before: dict[str, float], **expected: float) -> None:
    wire.wait_for(counted.is_idle, "gauges are back at 0", 10)
    after = counted.counts(model)
    assert {key: after[key] - before[key] for key in after} == {key: expected.get(key, 0) for key in after}
    (stats,) = (m for m in counted.server.stats()["model_stats"] if m["name"] == model)
    assert stats["inference_stats"]["fail"]["count"] == sum(after[reason] for reason in REASONS)
    assert stats["inference_stats"]["success"]["count"] == after["success"]
    assert counted.sample("asio_infer_request_seconds_count", model=model) == after["success"]
    assert counted.sample("asio_infer_queue_seconds_count", model=model) == after["success"]


def test_failures_of_requests_and_of_the_model(counted: Counted) -> None:
    before = counted.counts("quick")
    bad = [
        wire.infer_text("quick", "{"),
        wire.infer("quick", [wire.tensor("INPUT0", [[1.5]])], outputs=[{"name": "nope"}]),
        wire.infer("quick", [wire.tensor("INPUT0", [[1.5]])], parameters={"timeout": -1}),
    ]
    assert [counted.ask(data).status for data in bad] == [400] * 3
    assert counted.ask(ask_of("quick", 99)).status == 500
    assert [row_of(counted.ask(ask_of("quick", n))) for n in range(5)] == [0, 1, 2, 3, 4]
    check_growth(counted, "quick", before, success=5, OTHER=3, BACKEND=1)


def test_failures_of_calls_in_the_process(counted: Counted) -> None:
    """They are counted as those over HTTP are."""
    before = counted.counts("quick")
    with pytest.raises(ai.ModelError):
        counted.server.infer("quick", BAD_ROW)

    async def both() -> None:
        await counted.server.infer_async("quick", ONE)
        with pytest.raises(ai.ModelError):
            await counted.server.infer_async("quick", BAD_ROW)

    asyncio.run(both())
    check_growth(counted, "quick", before, success=1, BACKEND=2)


def test_full_queues_late_and_cancelled_requests(counted: Counted) -> None:
    before = counted.counts("forever")
    with counted.connect() as runs, counted.connect() as late, counted.connect() as waits:
        runs.send(ask_of("forever"))
        counted.wait_running("forever")
        late.send(ask_of("forever", parameters=SOON))
        waits.send(ask_of("forever"))
        counted.wait_waiting("forever", 2)
        assert counted.ask(ask_of("forever")).status == 429
        assert late.answer().status == 504
        waits.reset()
        counted.wait_waiting("forever", 0)
        runs.reset()
    wire.wait_for(counted.is_idle, "the run was stopped", 10)
    assert counted.ask(ask_of("forever", parameters=SOON)).status == 504
    check_growth(counted, "forever", before, REJECTED=3, CANCELED=2)


def test_full_queues_late_and_cancelled_calls_in_the_process(counted: Counted) -> None:
    before = counted.counts("forever")

    async def main() -> None:
        runs = counted.server.infer_async("forever", ONE)
        waits = counted.server.infer_async("forever", ONE)
        late = counted.server.infer_async("forever", ONE, timeout_s=0.2)
        assert counted.sample("nv_inference_pending_request_count", model="forever") == 2
        with pytest.raises(ai.QueueFull):
            await counted.server.infer_async("forever", ONE)
        with pytest.raises(ai.DeadlineExceeded):
            await late
        assert waits.cancel()
        assert runs.cancel()
        await asyncio.gather(runs, waits, return_exceptions=True)

    asyncio.run(main())
    check_growth(counted, "forever", before, REJECTED=2, CANCELED=2)


def test_a_batch_of_eight_is_eight_requests_and_one_run(counted: Counted) -> None:
    before, runs = counted.counts("batch"), counted.sample("nv_inference_exec_count", model="batch")
    with counted.connect() as plug, counted.connect() as others:
        plug.send(ask_of("batch"))
        counted.wait_running("batch")
        others.send(b"".join(ask_of("batch", n) for n in range(8)))
        assert [row_of(others.answer()) for _ in range(8)] == [float(n) for n in range(8)]
        assert row_of(plug.answer()) == 1.5
    check_growth(counted, "batch", before, success=9)
    assert counted.sample("nv_inference_exec_count", model="batch") == runs + 2


def test_a_bad_member_of_a_batch_is_the_only_failure(counted: Counted) -> None:
    before = counted.counts("batch")
    with counted.connect() as plug, counted.connect() as others:
        plug.send(ask_of("batch"))
        counted.wait_running("batch")
        others.send(b"".join(ask_of("batch", n) for n in (1, 99, 2)))
        assert [others.answer().status for _ in range(3)] == [200, 500, 200]
        assert plug.answer().status == 200
    check_growth(counted, "batch", before, success=3, BACKEND=1)


def test_what_a_stop_refuses_is_counted(counted: Counted) -> None:
    before = counted.counts("forever")
    outcomes: list[int] = []
    with counted.connect() as runs, counted.connect() as waits:
        runs.send(ask_of("forever"))
        counted.wait_running("forever")
        waits.send(ask_of("forever"))
        counted.wait_waiting("forever", 1)
        thread = threading.Thread(target=counted.server.stop, args=[0.2])
        thread.start()
        outcomes = [runs.answer().status, waits.answer().status]
        thread.join()
    assert outcomes == [503, 503]
    after = counted.counts("forever")
    assert after["REJECTED"] - before["REJECTED"] == 2
    assert sum(after.values()) - sum(before.values()) == 2
    assert counted.is_idle()
