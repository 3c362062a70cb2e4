"""Signals: who handles them, and what they end."""

import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import asio_infer as ai

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends POSIX signals")

SERVE = """
    import os, sys, signal, threading, time
    import asio_infer as ai
    server = ai.Server(port=0, log=ai.Log(level="off"))
    server.register("slow", ai.Identity(shape=(-1, 4), delay_s=float(sys.argv[1])), warmup=False)
    def say(*words): os.write(1, (" ".join(map(str, words)) + "\\n").encode())   # whole lines, whatever thread
    x = {"INPUT0": [[1.0, 2.0, 3.0, 4.0]]}
    def wait_until_running(model):
        while f'asio_infer_requests_running{{model="{model}",version="1"}} 1' not in server.metrics(): time.sleep(0.002)
    def ask():
        try:
            say("answer", server.infer("slow", x)["OUTPUT0"].tolist())
        except ai.AsioInferError as error:
            say("answer", error.code)
"""

WAIT = (
    SERVE
    + """
    asker = threading.Thread(target=ask, daemon=True)
    with server:
        if sys.argv[2] == "busy":
            asker.start()
            wait_until_running("slow")
        # The handlers stand once wait() has begun: the signal is sent when they do.
        def ready():
            while signal.getsignal(signal.SIGTERM) == signal.SIG_DFL: time.sleep(0.001)
            say("ready")
        threading.Thread(target=ready, daemon=True).start()
        try:
            server.wait()
            say("returned")
        except KeyboardInterrupt:
            say("interrupted")
        say("running", server._core.running, server.ready())
        say("handlers", signal.getsignal(signal.SIGINT) is signal.default_int_handler,
              signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
        if asker.ident: asker.join()
    """
)


@pytest.mark.parametrize(("number", "how"), [(signal.SIGTERM, "returned"), (signal.SIGINT, "interrupted")])
@pytest.mark.parametrize("load", ["idle", "busy"])
def test_wait_drains(number: int, how: str, load: str, start: Callable[..., Any]) -> None:
    process = start(WAIT, 0.5, load)
    assert process.read_line() == "ready"
    process.signal(number)
    status, out, err = process.finish()
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines.index(how) < lines.index("running False False") < lines.index("handlers True True")
    assert [line for line in lines if line.startswith("answer")] == (
        ["answer [[1.0, 2.0, 3.0, 4.0]]"] if load == "busy" else []
    )


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_forces(second: int, start: Callable[..., Any]) -> None:
    process = start(WAIT, 20, "busy")
    assert process.read_line() == "ready"
    process.signal(signal.SIGTERM)
    time.sleep(0.3)
    began = time.monotonic()
    process.signal(second)
    status, out, err = process.finish()
    assert time.monotonic() - began < 5
    assert (status, err) == (0, "")
    assert "returned" in out
    assert "answer unavailable" in out or "answer cancelled" in out


def test_handlers_of_the_program_stay(start: Callable[..., Any]) -> None:
    process = start(
        SERVE
        + """
    def own(number, frame):
        say("own", number)
        if number == signal.SIGTERM: server.stop()
    signal.signal(signal.SIGINT, own)
    signal.signal(signal.SIGTERM, own)
    server.start()
    threading.Timer(0.2, lambda: say("ready")).start()
    server.wait()
    say("returned", signal.getsignal(signal.SIGINT) is own, server._core.running)
    """,
        0,
    )
    assert process.read_line() == "ready"
    process.signal(signal.SIGINT)
    assert process.read_line() == f"own {signal.SIGINT:d}"
    process.signal(signal.SIGTERM)
    assert process.finish() == (0, f"own {signal.SIGTERM:d}\nreturned True False\n", "")


def test_a_handler_that_raises(start: Callable[..., Any]) -> None:
    process = start(
        SERVE
        + """
    class Enough(Exception): pass
    def own(number, frame): raise Enough
    signal.signal(signal.SIGUSR1, own)
    threading.Timer(0.2, lambda: say("ready")).start()
    try:
        with server:
            server.wait()
    except Enough:
        say("enough", server._core.running)
    """,
        0,
    )
    assert process.read_line() == "ready"
    process.signal(signal.SIGUSR1)
    assert process.finish() == (0, "enough False\n", "")


def test_a_wait_outside_of_the_main_thread_touches_no_handler(start: Callable[..., Any]) -> None:
    process = start(
        SERVE
        + """
    server.start()
    thread = threading.Thread(target=lambda: (server.wait(), say("returned")))
    thread.start()
    try:
        say("ready")
        while True: time.sleep(0.05)
    except KeyboardInterrupt:
        say("interrupted", server._core.running)
    server.stop()
    thread.join()
    """,
        0,
    )
    assert process.read_line() == "ready"
    process.signal(signal.SIGINT)
    assert process.finish() == (0, "interrupted True\nreturned\n", "")


def test_ctrl_c_in_infer(start: Callable[..., Any]) -> None:
    """It ends a call that waits in the queue at once, and the server goes on."""
    process = start(
        SERVE
        + """
    server.register("one", ai.Identity(shape=(-1, 4), delay_s=1.0), batching=None)
    with server:
        blocker = threading.Thread(target=lambda: server.infer("one", x))
        blocker.start()
        wait_until_running("one")
        threading.Timer(0.2, lambda: say("ready")).start()
        began = time.monotonic()
        try:
            server.infer("one", x)
        except KeyboardInterrupt:
            say("interrupted", time.monotonic() - began < 0.8)
        say("again", server.infer("slow", x)["OUTPUT0"].shape)
        blocker.join()
    """,
        0,
    )
    assert process.read_line() == "ready"
    process.signal(signal.SIGINT)
    assert process.finish() == (0, "interrupted True\nagain (1, 4)\n", "")


def test_ctrl_c_in_stop(start: Callable[..., Any]) -> None:
    process = start(
        SERVE
        + """
    server.start()
    threading.Thread(target=ask, daemon=True).start()
    wait_until_running("slow")
    threading.Timer(0.2, lambda: say("ready")).start()
    began = time.monotonic()
    try:
        server.stop()
    except KeyboardInterrupt:
        say("interrupted", server._core.running, time.monotonic() - began < 5)
    """,
        20,
    )
    assert process.read_line() == "ready"
    process.signal(signal.SIGINT)
    status, out, err = process.finish()
    assert (status, err) == (0, "")
    assert "interrupted False True" in out


def test_asyncio_handlers(start: Callable[..., Any]) -> None:
    process = start(
        SERVE
        + """
    import asyncio
    async def main():
        done = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, done.set)
        async with server:
            say("ready")
            await done.wait()
            say(list(await server.infer_async("slow", x)))
        say("stopped", server._core.running)
    asyncio.run(main())
    """,
        0,
    )
    assert process.read_line() == "ready"
    process.signal(signal.SIGTERM)
    assert process.finish() == (0, "['OUTPUT0']\nstopped False\n", "")


def test_importing_and_starting_touch_no_handler(idle_server: ai.Server) -> None:
    before = [signal.getsignal(number) for number in signal.valid_signals()]
    with idle_server:
        assert [signal.getsignal(number) for number in signal.valid_signals()] == before


def test_wait_ends_when_another_thread_stops(idle_server: ai.Server) -> None:
    with pytest.raises(ai.Unavailable, match="start"):
        idle_server.wait()
    idle_server.start()
    threading.Timer(0.1, idle_server.stop).start()
    idle_server.wait()
    assert not idle_server.ready()
