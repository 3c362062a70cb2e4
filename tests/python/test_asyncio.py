"""infer_async: results that come from C++ threads, in asyncio's event loops."""

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import asio_infer as ai

X = {"INPUT0": np.arange(4, dtype=np.float32).reshape(1, 4)}


def row(value: float) -> dict[str, np.ndarray]:
    return {"INPUT0": np.full((1, 4), value, np.float32)}


@pytest.fixture
def slow() -> Iterator[ai.Server]:
    """A server with a model `slow` that takes 50 ms, one request at a time, and `echo`, which takes none."""
    with ai.Server(port=0, log="logging") as server:
        server.register("slow", ai.Identity(shape=(-1, 4), delay_s=0.05), batching=None, queue=ai.Queue(max_size=1000))
        server.register("echo", ai.Identity(shape=(-1, 4)))
        yield server


def pending(server: ai.Server, model: str = "slow") -> int:
    name = f'nv_inference_pending_request_count{{model="{model}",version="1"}} '
    return next(int(float(line.removeprefix(name))) for line in server.metrics().splitlines() if line.startswith(name))


def test_a_thousand(server: ai.Server) -> None:
    async def main() -> None:
        calls = [server.infer_async("echo", row(i)) for i in range(1000)]
        for i, outputs in enumerate(await asyncio.gather(*calls)):
            assert outputs["OUTPUT0"].tolist() == [[i] * 4]

    # The default queue holds 256.
    server.register("echo", ai.Identity(shape=(-1, 4)), replace=True, queue=ai.Queue(max_size=2000))
    asyncio.run(main())


def test_two_loops_in_a_row_and_two_at_once(server: ai.Server) -> None:
    async def main() -> int:
        return sum([(await server.infer_async("echo", X))["OUTPUT0"].shape[1] for _ in range(20)])

    assert [asyncio.run(main()), asyncio.run(main())] == [80, 80]
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(asyncio.run(main()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [80, 80, 80]


def test_uvloop(server: ai.Server) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def main() -> Any:
        return await asyncio.gather(*(server.infer_async("echo", row(i)) for i in range(50)))

    outputs = uvloop.run(main())
    assert [o["OUTPUT0"][0, 0] for o in outputs] == list(range(50))


def test_the_loop_is_not_held_up(slow: ai.Server) -> None:
    async def main() -> None:
        call = slow.infer_async("slow", X)
        turns = 0
        while not call.done():
            await asyncio.sleep(0.001)
            turns += 1
        assert turns >= 10

    asyncio.run(main())


def test_errors(slow: ai.Server) -> None:
    async def main() -> None:
        with pytest.raises(ai.NotFound):
            await slow.infer_async("nobody", X)
        with pytest.raises(TypeError, match="float64"):
            await slow.infer_async("echo", {"INPUT0": np.ones((1, 4))})
        with pytest.raises(ai.InvalidRequest):
            await slow.infer_async("echo", {"INPUT0": np.ones((1, 5), np.float32)})
        with pytest.raises(ai.DeadlineExceeded):
            await asyncio.gather(*(slow.infer_async("slow", X, timeout_s=0.12) for _ in range(5)))
        while pending(slow):
            await asyncio.sleep(0.005)
        slow.register("broken", ai.Identity(shape=(-1, 4), fail="always"))
        with pytest.raises(ai.ModelError):
            await slow.infer_async("broken", X)

    asyncio.run(main())


def test_outside_of_a_loop(slow: ai.Server) -> None:
    with pytest.raises(RuntimeError, match="running event loop"):
        slow.infer_async("echo", X)


def test_changes_after_the_call_have_no_effect(slow: ai.Server) -> None:
    async def main() -> None:
        small, large = np.ones((1, 4), np.float32), np.ones((50_000, 4), np.float32)
        calls = [slow.infer_async("slow", {"INPUT0": x}) for x in (small, large)]
        small[:] = large[:] = 2
        for outputs in await asyncio.gather(*calls):
            assert (outputs["OUTPUT0"] == 1).all()

    asyncio.run(main())


def test_cancelling_half(slow: ai.Server) -> None:
    """Cancelled calls leave the queue; the others get their answers."""

    async def main() -> None:
        calls = [slow.infer_async("slow", row(i)) for i in range(40)]
        for call in calls[1::2]:
            assert call.cancel()
        while pending(slow) > 19:
            await asyncio.sleep(0.001)
        began = time.monotonic()
        for outputs, i in zip(await asyncio.gather(*calls[::2]), range(0, 40, 2), strict=True):
            assert outputs["OUTPUT0"].tolist() == [[i] * 4]
        assert time.monotonic() - began < 1.6
        assert all(call.cancelled() for call in calls[1::2])

    asyncio.run(main())


def test_a_task_that_is_cancelled_or_times_out(slow: ai.Server) -> None:
    async def main() -> None:
        blocker = slow.infer_async("slow", X)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(slow.infer_async("slow", X), 0.01)
        task = asyncio.ensure_future(asyncio.gather(slow.infer_async("slow", X)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert pending(slow) == 0
        await blocker

    asyncio.run(main())


def test_a_loop_that_is_closed(slow: ai.Server, caplog: pytest.LogCaptureFixture) -> None:
    """Results for it are dropped, with one line, and other loops go on."""

    async def leave() -> None:
        for _ in range(3):
            slow.infer_async("slow", X)

    caplog.set_level(logging.WARNING, "asio_infer")
    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave())
    loop.close()
    guard = time.monotonic() + 20
    while pending(slow) and time.monotonic() < guard:
        time.sleep(0.005)

    async def main() -> None:
        await slow.infer_async("slow", X)

    asyncio.run(main())
    lines = [record.getMessage() for record in caplog.records if "event loop is closed" in record.getMessage()]
    assert 1 <= len(lines) <= 3


def test_stop_with_calls_under_way() -> None:
    async def main() -> list[Any]:
        async with ai.Server(port=0, log=ai.Log(level="off")) as server:
            server.register("slow", ai.Identity(shape=(-1, 4), delay_s=0.05), batching=None)
            calls = [server.infer_async("slow", X) for _ in range(5)]
            await asyncio.to_thread(server.stop)
            return await asyncio.gather(*calls, return_exceptions=True)

    assert [type(outcome) for outcome in asyncio.run(main())] == [dict] * 5


def test_stop_does_not_wait_longer_than_told() -> None:
    async def main() -> list[Any]:
        async with ai.Server(port=0, log=ai.Log(level="off")) as server:
            server.register("slow", ai.Identity(shape=(-1, 4), delay_s=0.2), batching=None)
            calls = [server.infer_async("slow", X) for _ in range(50)]
            await asyncio.to_thread(server.stop, 0.3)
            return await asyncio.gather(*calls, return_exceptions=True)

    began = time.monotonic()
    outcomes = asyncio.run(main())
    assert time.monotonic() - began < 3
    assert {type(outcome) for outcome in outcomes} <= {dict, ai.Unavailable, ai.Cancelled}
    assert any(isinstance(outcome, ai.Unavailable) for outcome in outcomes)


def test_context_variables(slow: ai.Server) -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")

    async def one(value: int) -> int:
        variable.set(value)
        await slow.infer_async("echo", X)
        return variable.get()

    async def main() -> list[int]:
        return await asyncio.gather(*(one(i) for i in range(20)))

    assert asyncio.run(main()) == list(range(20))
