"""Stop, destruction and the end of the program."""

import gc
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import asio_infer as ai

X = {"INPUT0": [[1.0, 2.0, 3.0, 4.0]]}


def make(delay_s: float = 0.0) -> ai.Server:
    server = ai.Server(port=0, log=ai.Log(level="off"))
    server.register("echo", ai.Identity(shape=(-1, 4), delay_s=delay_s))
    return server


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


# ---- stop()


def test_an_idle_stop_is_quick() -> None:
    server = make()
    server.start()
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 0.3
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 0.1


def test_stop_before_start_and_after_a_failed_start() -> None:
    server = make()
    server.stop()
    server.start()
    other = ai.Server(port=server.port, log=ai.Log(level="off"))
    with pytest.raises(ai.Unavailable):
        other.start()
    other.stop()
    with pytest.raises(ai.AsioInferError):
        server.start()
    assert server.infer("echo", X)["OUTPUT0"].shape == (1, 4)
    server.stop()


def resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_start_and_stop_many_times_on_one_port() -> None:
    first = make()
    first.start()
    port = first.port
    first.stop()
    server = ai.Server(port=port, log=ai.Log(level="off"))
    server.register("echo", ai.Identity(shape=(-1, 4)))
    threads, files, resident = [], [], []
    for _ in range(100):
        with server:
            assert is_open(port)
            assert server.infer("echo", X)["OUTPUT0"].shape == (1, 4)
        assert not is_open(port)
        if sys.platform == "linux":
            threads.append(len(os.listdir("/proc/self/task")))
            files.append(len(os.listdir("/proc/self/fd")))
            resident.append(resident_bytes())
    assert len(set(threads)) <= 3
    assert len(set(files)) <= 3
    if resident:  # the first rounds fill pools and arenas
        assert resident[-1] - resident[19] < 2 << 20


def test_stop_while_another_thread_starts() -> None:
    for _ in range(20):
        server = make()
        starter = threading.Thread(target=server.start)
        starter.start()
        server.stop()
        starter.join()
        server.stop()
        assert not server.ready()


def test_stop_from_two_threads() -> None:
    server = make(delay_s=0.2)
    server.start()
    asker = threading.Thread(target=server.infer, args=("echo", X))
    asker.start()
    time.sleep(0.05)
    stoppers = [threading.Thread(target=server.stop) for _ in range(2)]
    for thread in [*stoppers, asker]:
        if thread.ident is None:
            thread.start()
    for thread in [*stoppers, asker]:
        thread.join(10)
        assert not thread.is_alive()


def test_an_exception_that_leaves_the_block() -> None:
    server = make()

    def fail() -> None:
        with server:
            assert is_open(server.port)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not is_open(server.port)


# ---- Destruction


def test_del_while_busy() -> None:
    """The last reference goes while calls are under way and other threads need the GIL."""
    for round_ in range(20):
        server = make(delay_s=0.02)
        server.start()
        port = server.port
        codes: list[str] = []

        def ask(infer: Callable[..., Any] = server.infer, codes: list[str] = codes) -> None:
            try:
                infer("echo", X)
                codes.append("ok")
            except ai.AsioInferError as error:
                codes.append(error.code)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        del ask
        if round_ % 2:
            cycle: dict[str, Any] = {"server": server}
            cycle["self"] = cycle
            del server, cycle
            gc.collect()
        else:
            del server
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
        del thread, threads
        gc.collect()
        assert len(codes) == 3
        assert set(codes) <= {"ok", "unavailable", "cancelled"}
        assert not is_open(port)


def test_a_model_keeps_its_server() -> None:
    server = make()
    model = server.models()[0]
    server.start()
    del server
    gc.collect()
    assert model.infer(X)["OUTPUT0"].shape == (1, 4)


# ---- The end of the program

RUNNING = """
    import sys, threading, time, atexit, os, signal
    import asio_infer as ai
    server = ai.Server(port=0, log=ai.Log(level="off"))
    server.register("echo", ai.Identity(shape=(-1, 4)))
    server.register("wide", ai.Identity(shape=(-1, 9999)))
    server.register("slow", ai.Identity(shape=(-1, 4), delay_s=0.5))
    server.register("stuck", ai.Identity(shape=(-1, 4), delay_s=60), warmup=False)
    server.start()
    x = {"INPUT0": [[1.0, 2.0, 3.0, 4.0]]}
    server.infer("echo", x)
    def ask(model="echo", count=10**9):
        try:
            for _ in range(count): server.infer(model, x)
        except ai.AsioInferError: pass
    def background(*arguments): threading.Thread(target=ask, args=arguments, daemon=True).start()
"""


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise ZeroDivisionError", 1),
        ("os._exit(4)", 4),
        ("server.stop(); sys.exit(5)", 5),
        ("background(); time.sleep(0.05); sys.exit(6)", 6),
        ("[background('slow') for _ in range(4)]; time.sleep(0.05); sys.exit(7)", 7),
        ("background('stuck'); time.sleep(0.05); sys.exit(8)", 8),
        ("threading.Thread(target=server.wait, daemon=True).start(); sys.exit(9)", 9),
        ("server.self = server; del server; sys.exit(10)", 10),
        ("keep = server.infer('wide', {'INPUT0': [[1.0] * 9999]}); sys.exit(11)", 11),
        ("other = ai.Server(port=0, log='logging'); other.start(); sys.exit(12)", 12),
        ("atexit.register(lambda: server.infer('echo', x)); sys.exit(13)", 13),
        ("atexit.register(server.stop); sys.exit(14)", 14),
        ("sys.server = server; del server; sys.exit(15)", 15),
    ],
)
def test_a_script_without_stop_ends_with_its_own_status(end: str, status: int, run_script: Any) -> None:
    began = time.monotonic()
    done = run_script(f"{RUNNING}    {end}\n", timeout_s=30)
    assert done.returncode == status, done.stderr
    assert time.monotonic() - began < 12
    assert "Fatal" not in done.stderr
    assert ("ZeroDivisionError" in done.stderr) == ("ZeroDivisionError" in end)
    assert done.stderr == "" or "ZeroDivisionError" in end


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "loop.close()"])
def test_a_script_that_ends_with_async_calls_under_way(end: str, run_script: Any) -> None:
    script = f"""{RUNNING}
    import asyncio
    loop = asyncio.new_event_loop()
    async def leave():
        for _ in range(20): server.infer_async("slow", x)
    loop.run_until_complete(leave())
    {end}
    """
    done = run_script(script, timeout_s=30)
    assert done.returncode == (3 if "3" in end else 0), done.stderr
    assert "Fatal" not in done.stderr


def test_a_destructor_that_stops_at_the_end(run_script: Any) -> None:
    script = f"""{RUNNING}
    class Service:
        def __init__(self, server): self.server = server
        def __del__(self): self.server.stop()
    service = Service(server)
    service.itself = service
    """
    done = run_script(script, timeout_s=30)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "loop",
    [
        "background()",
        "threading.Thread(target=lambda: asyncio.run(forever()), daemon=True).start()",
    ],
)
def test_daemon_threads_that_never_end(loop: str, run_script: Any) -> None:
    """Wherever they are when the interpreter goes, in C++ or in Python, they do no harm."""
    script = f"""{RUNNING}
    import asyncio
    async def forever():
        while True:
            await asyncio.gather(*(server.infer_async("echo", x) for _ in range(5)), return_exceptions=True)
    for _ in range(3): {loop}
    time.sleep(0.05)
    sys.exit(3)
    """
    for _ in range(5):
        done = run_script(script, timeout_s=30)
        assert (done.returncode, done.stderr) == (3, "")
