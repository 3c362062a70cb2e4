"""Heavy load, for a limited time: many connections, overload, clients that leave, slow clients, failing models.

`make stress` runs them; their figures are in docs/reliability.md.
"""

import contextlib
import functools
import itertools
import random
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import load
import numpy as np
import onnx
import pytest
import wire
from load import SCALE, Figures
from onnx import TensorProto, helper, numpy_helper
from servers import Served

pytestmark = pytest.mark.stress

PROBE_LIMIT_MS = 50
"""The 99th percentile of GET /v2/health/live under any load."""


def echo(count: int = 4, model: str = "echo") -> bytes:
    """A request that is answered with its own numbers, in binary form."""
    x = wire.f32(*range(count))
    tensor = wire.binary_tensor("INPUT0", x, [1, count])
    return wire.infer(model, [tensor], x, parameters={"binary_data_output": True})


def answer_of(server: Served, request: bytes) -> bytes:
    answer = server.ask(request)
    assert answer.status == 200
    return answer.body


def holds_nothing(server: Served) -> bool:
    """No request is under way, and nobody is connected but the one who asks."""
    return (
        server.metric("nv_inference_pending_request_count") == 0
        and server.metric("asio_infer_requests_running") == 0
        and server.metric("asio_infer_inflight_bytes") < 8192  # this answer
        and server.metric("asio_infer_connections_open") <= 2
    )


def in_threads(works: list[Callable[[], None]]) -> None:
    """Run them side by side; a failure of any is raised."""
    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


def test_ten_thousand_connections(models: Path) -> None:
    active, count = 200, int(10_000 * min(SCALE, 1))
    with Served([{"name": "tiny", "model": str(models / "tiny.onnx")}]) as server:
        x = wire.f32(*range(16))
        request = wire.infer("tiny", [wire.binary_tensor("x", x, [1, 16])], x, parameters={"binary_data_output": True})
        expected = answer_of(server, request)
        load.run(server, [request], expected=expected, connections=active, seconds=1)
        before, descriptors = server.resident(), server.descriptors()
        idle_bytes = 0.0

        def measure() -> None:
            nonlocal idle_bytes
            assert server.metric("asio_infer_connections_open") >= count - active
            idle_bytes = (server.resident() - before) / (count - active)

        figures = load.run(
            server,
            [request],
            expected=expected,
            when_idle=measure,
            idle=count - active,
            connections=active,
            seconds=20 * SCALE,
            probe="/v2/health/live",
            probe_hz=20,
        )
        load.record(
            "connections",
            open=count,
            active=active,
            idle_kib=round(idle_bytes / 1024, 1),
            requests_per_s=round(figures["goodput"]),
            p99_ms=round(figures["good"]["p99_ms"], 1),
            live_p99_ms=round(figures["probes"]["p99_ms"], 1),
        )
        load.check_nothing_lost(figures)
        assert set(figures["answered"]) == {"200"}
        assert figures["probes"]["p99_ms"] < PROBE_LIMIT_MS
        assert idle_bytes < 16 << 10
        assert server.metric("asio_infer_connections_refused_total") == 0
        wire.wait_for(lambda: server.descriptors() <= descriptors, "descriptors are closed", 20)
        wire.wait_for(lambda: holds_nothing(server), "nothing is held", 20)


def heavy_model(path: Path) -> Path:
    """Some milliseconds of work on one core, within its caches: x FP32 [1, 256] -> y, by 64 rows and one weight."""
    rng = np.random.default_rng(0)
    constants = [
        numpy_helper.from_array((rng.standard_normal((256, 256)) / 16).astype(np.float32), "w"),
        numpy_helper.from_array(np.array([64, 1], np.int64), "repeats"),
    ]
    nodes, at = [helper.make_node("Tile", ["x", "repeats"], ["rows"])], "rows"
    for i in range(16):
        nodes += [helper.make_node("MatMul", [at, "w"], [f"m{i}"]), helper.make_node("Tanh", [f"m{i}"], [f"t{i}"])]
        at = f"t{i}"
    nodes.append(helper.make_node("ReduceMean", [at], ["y"], axes=[0], keepdims=1))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 256]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "heavy", values[:1], values[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_four_times_the_load_that_fits(tmp_path: Path) -> None:
    """Open loop: requests come on, whatever has become of those before."""
    timeout_s = 0.2
    model = {
        "name": "heavy",
        "model": str(heavy_model(tmp_path / "heavy.onnx")),
        "batching": None,
        "queue": {"timeout_s": timeout_s},
        "session_options": {"intra_op_num_threads": 1},
    }
    with Served([model]) as server:
        x = np.linspace(-1, 1, 256, dtype=np.float32).tobytes()
        request = wire.infer(
            "heavy", [wire.binary_tensor("x", x, [1, 256])], x, parameters={"binary_data_output": True}
        )
        expected = answer_of(server, request)

        def most_per_second() -> float:
            fits = load.run(server, [request], expected=expected, connections=4, seconds=10 * SCALE)
            load.check_nothing_lost(fits)
            return float(fits["goodput"])

        before = most_per_second()
        seconds = 60 * SCALE
        figures = load.run(
            server,
            [request],
            expected=expected,
            connections=4096,
            rate=4 * before,
            seconds=seconds,
            probe="/v2/health/live",
            probe_hz=20,
        )
        after = most_per_second()
        capacity = (before + after) / 2  # a machine is not equally fast at all times
        load.record(
            "overload",
            capacity_per_s=(round(before), round(after)),
            offered_per_s=round(4 * before),
            goodput_share=round(figures["goodput"] / capacity, 3),
            answered=figures["answered"],
            accepted_p99_ms=round(figures["good"]["p99_ms"]),
            refused_p99_ms=round(figures["refused"]["p99_ms"]),
            live_p99_ms=round(figures["probes"]["p99_ms"], 1),
            generator_cores=round(figures["cpu_s"] / seconds, 2),
        )
        load.check_nothing_lost(figures)
        assert set(figures["answered"]) <= {"200", "429", "503", "504"}
        assert figures["goodput"] >= 0.9 * capacity
        one_run_ms = 4000 / capacity  # with the noise of a machine that is full
        assert figures["good"]["p99_ms"] <= 1000 * timeout_s + one_run_ms
        assert figures["probes"]["p99_ms"] < PROBE_LIMIT_MS
        wire.wait_for(lambda: holds_nothing(server), "nothing is held", 20)


def leave(server: Served, dice: random.Random) -> None:
    """Connect, get to some point of an exchange, and go: by a reset, an end, or half an end."""
    count = dice.choice((4, 4, 4, 200_000))
    data = echo(count)
    cut = dice.choice((dice.randrange(40), dice.randrange(len(data)), len(data), len(data)))
    with socket.create_connection(server.address) as connection:
        connection.settimeout(wire.GUARD_S)
        with contextlib.suppress(ConnectionError):
            connection.sendall(data[:cut])
            if cut == len(data) and dice.random() < 0.3:
                connection.recv(dice.choice((1, 100, 10_000)))
            way = dice.randrange(3)
            if way == 0:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif way == 1:
                connection.shutdown(socket.SHUT_WR)


def test_twenty_thousand_clients_that_leave() -> None:
    models = [
        {"name": "echo", "identity": {"delay_s": 0.001}, "batching": {"max_size": 4}, "instances": 2},
        {"name": "good", "identity": {}},
    ]
    with Served(models) as server:
        good = echo(16, "good")
        expected = answer_of(server, good)
        leave(server, random.Random(0))
        wire.wait_for(lambda: holds_nothing(server), "nothing is held")
        before, descriptors = server.resident(), server.descriptors()
        leavers = 4
        each = int(20_000 * SCALE) // leavers
        figures: Figures = {}
        left = threading.Event()

        def behave() -> None:
            parts = []
            while not left.is_set():
                parts.append(load.run(server, [good], expected=expected, connections=16, seconds=2))
                load.check_nothing_lost(parts[-1])
            figures["requests"] = sum(part["sent"] for part in parts)
            figures["p99_ms"] = max(part["good"]["p99_ms"] for part in parts)
            assert all(set(part["answered"]) == {"200"} for part in parts)

        def storm(seed: int) -> None:
            dice = random.Random(seed)
            for _ in range(each):
                leave(server, dice)

        began = time.monotonic()
        with ThreadPoolExecutor(1) as pool:
            behaving = pool.submit(behave)
            try:
                in_threads([functools.partial(storm, seed) for seed in range(1, leavers + 1)])
            finally:
                left.set()
            behaving.result()
        wire.wait_for(lambda: holds_nothing(server), "nothing is held", 20)
        load.record(
            "leavers",
            left=leavers * each,
            seconds=round(time.monotonic() - began),
            good_requests=figures["requests"],
            good_p99_ms=round(figures["p99_ms"], 1),
            resident_growth_mib=round((server.resident() - before) / 2**20, 1),
        )
        assert server.descriptors() <= descriptors
        assert server.threads() <= server.most_threads
        assert server.resident() - before < 64 << 20
        assert answer_of(server, good) == expected


def quiet_p99_ms(server: Served, request: bytes, expected: bytes) -> float:
    figures = load.run(server, [request], expected=expected, connections=1, rate=100, seconds=max(2, 5 * SCALE))
    load.check_nothing_lost(figures)
    return float(figures["good"]["p99_ms"])


@pytest.mark.parametrize(
    ("mode", "options"),
    [
        ("headers", ["-H", "-i", "2"]),
        ("body", ["-B", "-i", "2", "-s", "65536"]),
        ("read", ["-X", "-w", "256", "-y", "512", "-n", "3", "-z", "16", "-k", "8"]),
    ],
)
def test_slow_clients(mode: str, options: list[str]) -> None:
    """slowhttptest with 500 connections: they are closed when their time is over, others notice nothing."""
    if shutil.which("slowhttptest") is None:
        pytest.skip("slowhttptest is not installed; make stress installs it")
    limits = {
        "header_timeout_s": 5,
        "body_progress_timeout_s": 5,
        "write_progress_timeout_s": 5,
        "idle_timeout_s": 15,
        "linger_timeout_s": 2,
    }
    # The answer of /v2/models/stats is what the slow readers read.
    models = [{"name": f"m{i}", "identity": {}} for i in range(1000)] + [{"name": "good", "identity": {}}]
    target = {"headers": "/v2/health/live", "body": "/v2/models/good/infer", "read": "/v2/models/stats"}[mode]
    count, seconds = int(500 * min(SCALE, 1)), max(10, int(40 * SCALE))
    with Served(models, limits=limits) as server:
        good = echo(16, "good")
        expected = answer_of(server, good)
        quiet = quiet_p99_ms(server, good, expected)
        command = ["slowhttptest", *options, "-c", str(count), "-r", "250", "-l", str(seconds), "-v", "1"]
        with subprocess.Popen(
            [*command, "-u", server.url + target], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as attack:
            wire.wait_for(lambda: server.metric("asio_infer_connections_open") > count / 2, "the attack is on", 20)
            most_open = server.metric("asio_infer_connections_open")
            figures = load.run(
                server, [good], expected=expected, connections=4, rate=100, seconds=seconds - 5, probe="/v2/health/live"
            )
            # The attack goes on, or has given up since its connections were closed.
            left = server.metric("asio_infer_connections_open")
            attack.communicate(timeout=seconds + 60)
        load.record(
            f"slow {mode}",
            connections=count,
            most_open=round(most_open),
            open_before_the_end=round(left),
            quiet_p99_ms=round(quiet, 2),
            attacked_p99_ms=round(figures["good"]["p99_ms"], 2),
        )
        load.check_nothing_lost(figures)
        assert set(figures["answered"]) == {"200"}
        assert figures["good"]["p99_ms"] < 2 * quiet + 10
        assert left <= 10
        wire.wait_for(lambda: holds_nothing(server), "nothing is held", 20)


def test_a_model_that_fails_one_run_in_three() -> None:
    """Rows of a failed batch are run alone; those that fail then get a 500, the others their own answers."""
    model = {"name": "echo", "identity": {"fail": "nth:3"}, "batching": {"max_size": 8, "max_delay_s": 0.001}}
    with Served([model]) as server:
        request = echo(16)
        expected = next(answer.body for answer in (server.ask(request) for _ in range(3)) if answer.status == 200)
        failed = server.metric("nv_inference_request_failure", model="echo")
        good = server.metric("nv_inference_request_success", model="echo")
        figures = load.run(server, [request], expected=expected, connections=32, seconds=20 * SCALE)
        answered = figures["answered"]
        load.record("failing model", answered=answered, share_failed=round(answered["500"] / figures["sent"], 3))
        load.check_nothing_lost(figures)
        assert set(answered) == {"200", "500"}
        assert server.metric("nv_inference_request_failure", model="echo") - failed == answered["500"]
        assert server.metric("nv_inference_request_success", model="echo") - good == answered["200"]
        wire.wait_for(lambda: holds_nothing(server), "nothing is held", 20)


def test_network_threads_never_wait() -> None:
    """Four bodies of 50 MiB JSON at a time and a model's queue that is full: liveness is answered as ever."""
    models = [
        {"name": "echo", "identity": {}},
        {"name": "slow", "identity": {"delay_s": 1}, "batching": None, "queue": {"max_size": 4}},
    ]
    number = "0.12345678,"
    numbers = number * ((50 << 20) // len(number)) + "1"
    count = numbers.count(",") + 1
    text = f'"name":"INPUT0","datatype":"FP32","shape":[1,{count}],"data":[{numbers}]'
    body = ('{"inputs":[{' + text + '}],"parameters":{"binary_data_output":true}}').encode()
    large = wire.request("POST", "/v2/models/echo/infer", body)
    with Served(models) as server:
        over = threading.Event()
        parsed = itertools.count()
        refused = itertools.count()

        def send_large() -> None:
            while not over.is_set():
                assert server.ask(large).status == 200
                next(parsed)

        def fill_queue() -> None:
            while not over.is_set():
                if server.ask(echo(model="slow")).status == 429:
                    next(refused)
                    over.wait(0.05)

        def probe() -> None:
            try:
                figures.update(
                    load.run(
                        server,
                        [wire.request("GET", "/metrics")],
                        connections=1,
                        rate=20,
                        seconds=20 * SCALE,
                        probe="/v2/health/live",
                        probe_hz=20,
                    )
                )
            finally:
                over.set()

        figures: Figures = {}
        in_threads([*[send_large] * 4, *[fill_queue] * 8, probe])
        load.record(
            "large JSON",
            bodies=next(parsed),
            refused=next(refused),
            live_p99_ms=round(figures["probes"]["p99_ms"], 1),
            live_max_ms=round(figures["probes"]["max_ms"], 1),
            metrics_p99_ms=round(figures["good"]["p99_ms"], 1),
        )
        load.check_nothing_lost(figures)
        assert figures["probes"]["p99_ms"] < PROBE_LIMIT_MS
        wire.wait_for(lambda: holds_nothing(server), "nothing is held", 20)
