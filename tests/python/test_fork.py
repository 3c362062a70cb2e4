"""Children of a process with a server: told clearly, never stuck."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

PARENT = """
    import os, sys, time, threading, warnings, gc
    warnings.simplefilter("ignore", DeprecationWarning)   # of Python 3.12 for a fork with threads: the very subject
    import asio_infer as ai
    models = sys.argv[1]
    server = ai.Server(port=0, log="logging")
    server.register("add", models + "/add.onnx")
    server.start()
    x = {"A": [[1.0, 2.0, 3.0, 4.0]], "B": [[1.0, 1.0, 1.0, 1.0]]}
    right = [[2.0, 3.0, 4.0, 5.0]]
    assert server.infer("add", x)["Y"].tolist() == right

    def in_child(work):
        pid = os.fork()
        if pid == 0:
            status = 99
            try:
                status = work() or 0
            finally:
                sys.stdout.flush()
                os._exit(status)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done: return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        os.kill(pid, 9)
        return "stuck"
"""


@pytest.fixture
def forked(run_script: Any, models: Any) -> Any:
    def run(text: str) -> str:
        done = run_script(PARENT + text, models, timeout_s=60)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout

    return run


def test_a_child_is_told(forked: Any) -> None:
    out = forked("""
    def child():
        calls = [lambda: server.infer("add", x), server.stop, server.start, server.models, server.ready, server.wait,
                 lambda: server.register("b", ai.Identity()), lambda: server.port, server.metrics]
        for call in calls:
            try: call()
            except ai.Unavailable as error: assert "fork" in str(error), error
            else: return 1
        print(repr(server))
    print(in_child(child))
    assert server.infer("add", x)["Y"].tolist() == right
    server.stop()
    """)
    assert out == "<asio_infer.Server of another process>\n0\n"


def test_a_child_may_end_in_any_way(forked: Any) -> None:
    out = forked("""
    def forget():
        global server
        del server
        gc.collect()
    print(in_child(lambda: None), in_child(forget))
    for leave in (sys.exit, exit):
        pid = os.fork()
        if pid == 0: leave(7)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    assert server.infer("add", x)["Y"].tolist() == right
    """)
    assert out == "0 0\n7\n7\n"


def test_a_child_may_have_its_own(forked: Any) -> None:
    """Even with ONNX models, though the runtime's threads stayed with the parent."""
    out = forked("""
    import asyncio
    def child():
        own = ai.Server(port=0, log="logging")
        own.register("add", models + "/add.onnx")
        own.register("echo", ai.Identity(shape=(-1, 4)))
        with own:
            assert own.port != server_port
            assert own.infer("add", x)["Y"].tolist() == right
            async def main(): return await own.infer_async("add", x)
            assert asyncio.run(main())["Y"].tolist() == right
    server_port = server.port
    print(in_child(child), in_child(lambda: in_child(child)))
    """)
    assert out == "0 0\n"


def test_a_fork_under_load(forked: Any) -> None:
    out = forked("""
    stop = threading.Event()
    def ask():
        while not stop.is_set(): server.infer("add", x)
    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads: thread.start()
    def child():
        with ai.Server(port=0, log=ai.Log(level="off")) as own:
            own.register("echo", ai.Identity(shape=(-1, 4)))
            assert own.infer("echo", {"INPUT0": [[1.0] * 4]})["OUTPUT0"].shape == (1, 4)
    print({in_child(child) for _ in range(15)})
    stop.set()
    for thread in threads: thread.join()
    """)
    assert out == "{0}\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method: str, tmp_path: Path, models: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(
        """
import multiprocessing, sys, warnings
import asio_infer as ai
def work(path):
    with ai.Server(port=0, log=ai.Log(level="off")) as server:
        server.register("add", path)
        return server.infer("add", {"A": [[1.0] * 4], "B": [[2.0] * 4]})["Y"].tolist()
if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)
    with ai.Server(port=0, log=ai.Log(level="off")), multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, [sys.argv[2]] * 4) == [[[3.0] * 4]] * 4)
"""
    )
    done = subprocess.run(
        [sys.executable, script, method, models / "add.onnx"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_a_program_started_by_the_process_inherits_no_socket(forked: Any) -> None:
    out = forked("""
    import subprocess
    text = subprocess.run(["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, close_fds=False).stdout
    print(text.count("->"), [line for line in text.splitlines() if "socket" in line or "anon_inode" in line])
    """)
    count, found = out.split(" ", 1)
    assert int(count) >= 3
    assert found == "[]\n"
