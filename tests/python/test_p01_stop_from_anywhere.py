"""stop() from places where something else is under way: it returns, and so does what it interrupts."""

import asyncio
import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import asio_infer as ai

X = {"INPUT0": [[1.0, 2.0, 3.0, 4.0]]}
FOREVER_S = 60.0
ENOUGH_S = 10.0
"""Far above what is right, far below `FOREVER_S`."""


@pytest.fixture
def server() -> Iterator[ai.Server]:
    """A running server whose model `forever` ends only because it is stopped."""
    with ai.Server(port=0, log=ai.Log(level="off")) as server:
        server.register("echo", ai.Identity(shape=(-1, 4)))
        server.register("forever", ai.Identity(shape=(-1, 4), delay_s=FOREVER_S), batching=None)
        yield server


def running(server: ai.Server) -> int:
    name = 'asio_infer_requests_running{model="forever",version="1"} '
    return next(int(float(line.removeprefix(name))) for line in server.metrics().splitlines() if line.startswith(name))


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + ENOUGH_S
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.002)


# ---- Calls that run when they are given up


def test_a_task_that_is_cancelled_stops_its_run(server: ai.Server) -> None:
    async def main() -> None:
        call = server.infer_async("forever", X)
        await asyncio.to_thread(wait_until, lambda: running(server) == 1, "it runs")
        assert call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.to_thread(wait_until, lambda: running(server) == 0, "the run was stopped")

    asyncio.run(main())


def test_a_wait_that_times_out_stops_its_run(server: ai.Server) -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(server.infer_async("forever", X), 0.1)

    asyncio.run(main())
    wait_until(lambda: running(server) == 0, "the run was stopped")


@pytest.mark.parametrize("timeout_s", [0.001, 0.1])
def test_a_call_whose_time_runs_out_in_the_run_stops_it(timeout_s: float, server: ai.Server) -> None:
    began = time.monotonic()
    with pytest.raises(ai.DeadlineExceeded):
        server.infer("forever", X, timeout_s=timeout_s)
    assert time.monotonic() - began < ENOUGH_S

    async def main() -> None:
        with pytest.raises(ai.DeadlineExceeded):
            await server.infer_async("forever", X, timeout_s=timeout_s)

    asyncio.run(main())
    assert time.monotonic() - began < 2 * ENOUGH_S
    wait_until(lambda: running(server) == 0, "the runs were stopped")


@pytest.mark.parametrize("timeout_s", [86_400.0, 1e9, 1e15, 1e300])
def test_a_very_long_time_does_not_wrap(timeout_s: float, server: ai.Server) -> None:
    """Endless or refused, never over at once."""
    with contextlib.suppress(ai.InvalidRequest):
        assert server.infer("echo", X, timeout_s=timeout_s)["OUTPUT0"].shape == (1, 4)


def test_a_closed_loop_leaves_no_run_behind(server: ai.Server) -> None:
    """asyncio.run cancels what is left, which includes what runs."""

    async def leave() -> None:
        for _ in range(5):
            server.infer_async("forever", X)
        await asyncio.to_thread(wait_until, lambda: running(server) == 1, "it runs")

    asyncio.run(leave())
    server.stop(0.1)
    assert running(server) == 0


# ---- stop()


def test_stop_in_a_coroutine_with_calls_under_way(server: ai.Server) -> None:
    """It holds up the loop, which therefore cannot take results: they come afterwards."""

    async def main() -> list[Any]:
        calls = [server.infer_async("forever", X) for _ in range(3)]
        server.stop(0.1)
        return await asyncio.gather(*calls, return_exceptions=True)

    began = time.monotonic()
    assert {type(outcome) for outcome in asyncio.run(main())} <= {ai.Unavailable, ai.Cancelled}
    assert time.monotonic() - began < ENOUGH_S


def test_stop_in_a_callback_of_a_result(server: ai.Server) -> None:
    async def main() -> None:
        stopped = asyncio.get_running_loop().create_future()

        def stop(_: object) -> None:
            server.stop(0.1)
            stopped.set_result(None)

        other = server.infer_async("forever", X)
        server.infer_async("echo", X).add_done_callback(stop)
        await asyncio.wait_for(stopped, ENOUGH_S)
        with pytest.raises((ai.Unavailable, ai.Cancelled)):
            await other

    asyncio.run(main())


def test_stop_in_many_threads_while_others_call(server: ai.Server) -> None:
    outcomes: list[str] = []

    def ask() -> None:
        try:
            while True:
                server.infer("echo", X)
        except ai.AsioInferError as error:
            outcomes.append(error.code)

    callers = [threading.Thread(target=ask) for _ in range(4)]
    stoppers = [threading.Thread(target=server.stop) for _ in range(8)]
    for thread in (*callers, *stoppers):
        thread.start()
    for thread in (*callers, *stoppers):
        thread.join(ENOUGH_S)
        assert not thread.is_alive()
    assert set(outcomes) <= {"unavailable", "cancelled"}
    assert len(outcomes) == 4


SIGNAL = """
    import signal, sys, threading, os
    import numpy  # infer() does, and should not take its time for it
    import asio_infer as ai
    x = {"INPUT0": [[1.0, 2.0, 3.0, 4.0]]}
    server = ai.Server(port=0, log=ai.Log(level="off"))
    server.register("slow", ai.Identity(shape=(-1, 4), delay_s=0.8), warmup=False)
    signal.signal(signal.SIGUSR1, lambda *_: (server.stop(), print("stopped", flush=True)))
    server.start()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
"""


@pytest.mark.parametrize(
    ("under_way", "says"),
    [
        ("print(server.infer('slow', x)['OUTPUT0'].shape)", "stopped\n(1, 4)\n"),
        ("server.wait(); print('waited')", "stopped\nwaited\n"),
        ("signal.pause(); print('paused')", "stopped\npaused\n"),
    ],
)
def test_stop_in_a_signal_handler(under_way: str, says: str, run_script: Any) -> None:
    done = run_script(f"{SIGNAL}    {under_way}\n", timeout_s=30)
    assert (done.returncode, done.stdout) == (0, says), done.stderr


def test_stop_in_a_handler_of_the_log(run_script: Any) -> None:
    """Log records reach Python on a thread of ours, which then must not be waited for: done, or refused in words."""
    done = run_script(
        """
        import logging, threading
        import asio_infer as ai

        done = threading.Event()
        outcome = []

        class Stops(logging.Handler):
            def emit(self, record):
                if "listening" in record.getMessage():
                    try:
                        server.stop()
                    except RuntimeError as refused:
                        outcome.append(str(refused))
                    done.set()

        logging.getLogger("asio_infer").setLevel(logging.INFO)
        logging.getLogger("asio_infer").addHandler(Stops())
        server = ai.Server(port=0, log="logging")
        server.start()
        assert done.wait(20), "stop() hangs"
        assert all("stop" in text for text in outcome), outcome
        server.stop()
        print("ended")
        """,
        timeout_s=40,
    )
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr


# ---- Nothing stays


def held() -> tuple[int, int]:
    """Threads and descriptors."""
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))


def test_failed_starts_and_loads_leave_nothing(server: ai.Server) -> None:
    def fail(port: int) -> None:
        with pytest.raises(ai.Unavailable):
            ai.Server(port=port, log=ai.Log(level="off")).start()
        with pytest.raises(ai.AsioInferError):
            server.register("broken", b"no model")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        fail(port)  # the first loads the runtime, which stays
        before = held()
        for _ in range(20):
            fail(port)
        wait_until(lambda: all(now <= then for now, then in zip(held(), before, strict=True)), "all is given back")
    assert server.infer("echo", X)["OUTPUT0"].shape == (1, 4)
