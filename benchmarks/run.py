#!/usr/bin/env python3
"""What a request costs: asio_infer beside the floor, the least that any server can do for it.

    run.py                                            the whole measurement, a little over a minute
    run.py --rounds 2 --seconds 1 --connections 16    a quick look
    run.py --json figures.json --plot figures.png     ... and keep the figures
    run.py -- COMMAND ... {model} ... {port}          another server, or other options (see below)

A tiny model (FP32 [N, 16] to [N, 4], two layers) is served by benchmarks/floor.cpp, one thread with one ONNX Runtime
session and nothing else, and by `asio-infer serve`. wrk asks both for one row at a time with binary tensors, 256
different bodies in turn. Rounds of the two alternate, so that both see the same machine; figures are medians over the
rounds, each with half the range of its rounds as "+-". Beside the load, other bodies are sent and the answers compared
with what onnxruntime says in this process.

  CPU us/request   user and system time of the server's processes over the requests that it answered. It hardly
                   depends on what else the machine does: the figure to go by.
  requests/s       answers in a second. p50, p99: the latency that half, and all but 1 in 100, stay below.
  ratio            asio_infer over the floor, round by round. Below 1 is possible: the floor shares no runs.

A warning tells when other programs used the machine during the rounds. COMMAND starts a server in the foreground that
serves the file {model} under the name `tiny` on the port {port}; the default is
`asio-infer serve tiny={model} --port {port}`. Needs wrk and g++, and the Python packages onnx and
onnxruntime; matplotlib for --plot.

Exit status: 0 measured; 1 a request failed or got a wrong answer, or a server did not start; 2 something is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
COLUMNS = 16
BODIES = 256
PATH = "/v2/models/tiny/infer"
# What stands before each row's bytes.
JSON = json.dumps(
    {
        "inputs": [
            {"name": "x", "datatype": "FP32", "shape": [1, COLUMNS], "parameters": {"binary_data_size": COLUMNS * 4}}
        ],
        "parameters": {"binary_data_output": True},
    }
).encode()
HEADERS = {"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(len(JSON))}
UNITS = {"us": 1.0, "ms": 1e3, "s": 1e6}


class Failure(Exception):
    """The measurement cannot go on; the text says why."""


# ---- What is asked --------------------------------------------------------------------------------------------------


def make_model(path: Path) -> None:
    """Two small layers: a run takes some microseconds, so that everything around it shows."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w1"], ["a"]),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("MatMul", ["b", "w2"], ["y"]),
        ],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", COLUMNS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])],
        [
            numpy_helper.from_array(random.standard_normal((COLUMNS, 32)).astype(np.float32), "w1"),
            numpy_helper.from_array(random.standard_normal((32, 4)).astype(np.float32), "w2"),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def ask(connection: http.client.HTTPConnection, row: np.ndarray) -> np.ndarray:
    """The answer to one row."""
    connection.request("POST", PATH, JSON + row.tobytes(), HEADERS)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise Failure(f"answered {answer.status}: {content[:500].decode(errors='replace')}")
    return np.frombuffer(content[int(answer.headers["Inference-Header-Content-Length"]) :], np.float32)


def write_script(folder: Path) -> Path:
    """The requests for wrk, made once at its start."""
    rows = np.random.default_rng(1).standard_normal((BODIES, COLUMNS)).astype(np.float32)
    bodies = folder / "bodies"
    bodies.write_bytes(b"".join(JSON + row.tobytes() for row in rows))
    headers = ", ".join(f'["{name}"] = "{value}"' for name, value in HEADERS.items())
    script = folder / "requests.lua"
    script.write_text(
        f"""
        local requests, n = {{}}, 0
        function init(args)
            local file = io.open("{bodies}", "rb")
            for i = 1, {BODIES} do
                requests[i] = wrk.format("POST", nil, {{{headers}}}, file:read({len(JSON) + COLUMNS * 4}))
            end
            file:close()
        end
        function request()
            n = n % {BODIES} + 1
            return requests[n]
        end
        """
    )
    return script


# ---- Processes ------------------------------------------------------------------------------------------------------


def process_tree(pid: int) -> list[int]:
    """The process and all that it has started."""
    found = [pid]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, children.read_text().split())
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children so far."""
    ticks = 0
    for each in process_tree(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICKS


def resident_mib(pid: int) -> float:
    """Resident memory of a process and its children."""
    total = 0
    for each in process_tree(pid):
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{each}/status").read_text())
        total += int(found[1]) if found else 0
    return total / 1024


def machine_busy_seconds() -> float:
    """Processor time that the whole machine has spent, idle time and waiting for disks left out."""
    fields = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    return (sum(fields) - fields[3] - fields[4]) / TICKS


def children_seconds() -> float:
    """Of that, the time of children that have ended (wrk) and of this process."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + time.process_time()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A server under measurement: a process that answers on `port`."""

    def __init__(self, name: str, command: list[str], port: int) -> None:
        self.name, self.command, self.port = name, command, port
        began = time.monotonic()
        self.log = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log, start_new_session=True)
        self.wait_ready(began + 60)
        self.ready_s = time.monotonic() - began

    def wait_ready(self, until: float) -> None:
        """Ask until there is an answer."""
        error: Exception | None = None
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with contextlib.closing(self.connect(timeout=2)) as connection:
                    ask(connection, np.zeros(COLUMNS, np.float32))
                return
            except (OSError, http.client.HTTPException, Failure) as reason:
                error = reason
                time.sleep(0.005)
        self.stop()
        self.log.seek(0)
        output = self.log.read().decode(errors="replace")[-2000:]
        raise Failure(f"{self.name} did not start: {' '.join(self.command)}: {error}\n{output}")

    def connect(self, timeout: float = 10) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


class Checker(threading.Thread):
    """Sends rows of its own at a low rate, beside the load, and compares the answers with the right ones."""

    def __init__(self, server: Server, model: Path) -> None:
        super().__init__(daemon=True)
        self.server, self.model = server, model
        self.checked = 0
        self.wrong = ""
        self.over = threading.Event()

    def run(self) -> None:
        random = np.random.default_rng(2)
        session = self.make_session()
        connection = self.server.connect()
        try:
            while not self.over.wait(0.01):
                row = random.standard_normal((1, COLUMNS)).astype(np.float32)
                right = session.run(None, {"x": row})[0][0]
                got = ask(connection, row)
                if got.shape != right.shape or not np.allclose(got, right, rtol=1e-5, atol=1e-5):
                    self.wrong = f"{row.tolist()} gave {got.tolist()}, not {right.tolist()}"
                    return
                self.checked += 1
        except (OSError, http.client.HTTPException, Failure) as error:
            self.wrong = str(error)

    def make_session(self):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        return onnxruntime.InferenceSession(str(self.model), options, providers=["CPUExecutionProvider"])

    def finish(self) -> int:
        self.over.set()
        self.join(30)
        if self.wrong or self.checked < 10:
            raise Failure(f"under load: {self.wrong or f'only {self.checked} answers could be checked'}")
        return self.checked


# ---- Measuring ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """One round, or a ratio or median of several."""

    requests_per_s: float
    cpu_us: float
    p50_us: float
    p99_us: float


def parse_wrk(text: str) -> tuple[int, float, float, float]:
    """Requests, seconds, and the 50th and 99th percentile in microseconds, out of what wrk prints."""
    if "Non-2xx" in text or "Socket errors" in text:
        raise Failure(f"requests failed:\n{text}")
    done = re.search(r"(\d+) requests in ([\d.]+)(us|ms|s|m)", text)
    at = {p: float(v) * UNITS[u] for p, v, u in re.findall(r"(50|99)%\s+([\d.]+)(us|ms|s)", text)}
    if done is None or len(at) < 2:
        raise Failure(f"wrk said something else than expected:\n{text}")
    seconds = float(done[2]) * {**UNITS, "m": 60e6}[done[3]] / 1e6
    return int(done[1]), seconds, at["50"], at["99"]


def load(server: Server, script: Path, connections: int, seconds: int) -> Figures:
    """One round of wrk."""
    before = cpu_seconds(server.process.pid)
    wrk = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script)]
    done = subprocess.run([*wrk, f"http://127.0.0.1:{server.port}{PATH}"], capture_output=True, text=True)
    used = cpu_seconds(server.process.pid) - before
    if done.returncode != 0:
        raise Failure(f"wrk failed: {done.stderr.strip() or done.stdout.strip()}")
    requests, took, p50, p99 = parse_wrk(done.stdout)
    if requests == 0:
        raise Failure(f"{server.name} answered nothing within {seconds} s")
    return Figures(requests / took, used / requests * 1e6, p50, p99)


def over_rounds(rounds: list[Figures]) -> tuple[Figures, Figures]:
    """The medians, and half the ranges."""
    columns = [list(column) for column in zip(*(asdict(each).values() for each in rounds), strict=True)]
    return (
        Figures(*map(statistics.median, columns)),
        Figures(*((max(column) - min(column)) / 2 for column in columns)),
    )


def ratio(of: Figures, to: Figures) -> Figures:
    return Figures(
        *(a / b if b else float("nan") for a, b in zip(asdict(of).values(), asdict(to).values(), strict=True))
    )


@dataclass(frozen=True)
class Files:
    """What both servers and wrk work with."""

    model: Path
    script: Path


class Bystanders:
    """What other programs use of the machine between start and end, in cores."""

    def __init__(self, servers: list[Server]) -> None:
        self.servers = servers
        self.began = time.monotonic()
        self.at_first = self.others()

    def others(self) -> float:
        return machine_busy_seconds() - children_seconds() - sum(cpu_seconds(s.process.pid) for s in self.servers)

    def cores(self) -> float:
        return max(0.0, (self.others() - self.at_first) / (time.monotonic() - self.began))


def compare(floor: Server, server: Server, files: Files, connections: int, options: argparse.Namespace) -> dict:
    """All rounds with this number of connections."""
    for each in (floor, server):
        load(each, files.script, connections, 1)  # warm
    checker = Checker(server, files.model)
    bystanders = Bystanders([floor, server])
    checker.start()
    rounds: dict[str, list[Figures]] = {floor.name: [], server.name: []}
    for _ in range(options.rounds):
        for each in (floor, server):
            rounds[each.name].append(load(each, files.script, connections, options.seconds))
    cores = bystanders.cores()
    checked = checker.finish()
    ratios = [ratio(s, f) for s, f in zip(rounds[server.name], rounds[floor.name], strict=True)]
    return {"rounds": rounds, "ratios": ratios, "others_cores": cores, "checked": checked}


# ---- Printing -------------------------------------------------------------------------------------------------------

COLUMNS_SHOWN = ("requests/s", "CPU us/request", "p50 us", "p99 us")


def print_row(connections: int, name: str, middle: Figures, spread: Figures, digits: tuple[int, ...]) -> None:
    values = zip(asdict(middle).values(), asdict(spread).values(), strict=True)
    cells = (f"{m:,.{d}f} +- {s:,.{d}f}".rjust(20) for (m, s), d in zip(values, digits, strict=True))
    print(f"{connections:>11}  {name:<11}" + "".join(cells), flush=True)


def print_results(connections: int, results: dict) -> None:
    for name, rounds in results["rounds"].items():
        print_row(connections, name, *over_rounds(rounds), digits=(0, 1, 0, 0))
    print_row(connections, "ratio", *over_rounds(results["ratios"]), digits=(2, 2, 2, 2))
    if results["others_cores"] > 0.1:
        print(f"{'':>13}busy machine: other programs used {results['others_cores']:.1f} cores during these rounds")


def to_json(all_results: dict[int, dict], server: Server) -> dict:
    def plain(rounds: list[Figures]) -> dict:
        middle, spread = over_rounds(rounds)
        return {"median": asdict(middle), "half_range": asdict(spread), "rounds": [asdict(each) for each in rounds]}

    figures = {
        connections: {
            **{name: plain(rounds) for name, rounds in results["rounds"].items()},
            "ratio": plain(results["ratios"]),
            "others_cores": results["others_cores"],
            "answers_checked": results["checked"],
        }
        for connections, results in all_results.items()
    }
    return {"command": server.command, "cores": os.cpu_count(), "connections": figures}


def plot(all_results: dict[int, dict], path: Path) -> None:
    """CPU, throughput and p99 over the number of connections."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    shown = (("cpu_us", "CPU per request, us"), ("requests_per_s", "requests per second"), ("p99_us", "p99, us"))
    figure, axes = pyplot.subplots(1, len(shown), figsize=(13, 4), layout="constrained")
    connections = list(all_results)
    for axis, (field, title) in zip(axes, shown, strict=True):
        for name in next(iter(all_results.values()))["rounds"]:
            pairs = [over_rounds(all_results[c]["rounds"][name]) for c in connections]
            middles = [getattr(middle, field) for middle, _ in pairs]
            axis.errorbar(
                connections, middles, [getattr(s, field) for _, s in pairs], marker="o", capsize=3, label=name
            )
        axis.set(title=title, xlabel="connections", xscale="log", xticks=connections, ylim=(0, None))
        axis.set_xticklabels(list(map(str, connections)))
        axis.legend()
    figure.savefig(path, dpi=120)


# ---- Running --------------------------------------------------------------------------------------------------------


def build_floor(folder: Path) -> Path:
    compiler = os.environ.get("CXX", "g++")
    made = folder / "floor"
    source = ROOT / "benchmarks" / "floor.cpp"
    options = ["-O2", "-std=c++20", "-I", str(ROOT / "cpp" / "src")]
    subprocess.run([compiler, *options, str(source), "-o", str(made), "-ldl"], check=True)
    return made


def runtime_library() -> str:
    import onnxruntime

    return str(next((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*")))


@contextlib.contextmanager
def both_servers(command: list[str], folder: Path, model: Path) -> Iterator[tuple[Server, Server]]:
    """The floor and the server, running."""
    with contextlib.ExitStack() as stack:
        port = free_port()
        floor_command = [str(build_floor(folder)), runtime_library(), str(model), str(port), "x", str(COLUMNS), "y"]
        floor = Server("floor", floor_command, port)
        stack.callback(floor.stop)
        port = free_port()
        server = Server("asio_infer", [part.format(model=model, port=port) for part in command], port)
        stack.callback(server.stop)
        yield floor, server


def measure(options: argparse.Namespace, folder: Path) -> None:
    files = Files(model=folder / "tiny.onnx", script=write_script(folder))
    make_model(files.model)
    with both_servers(options.command, folder, files.model) as (floor, server):
        print(f"ready after {server.ready_s:.2f} s, {resident_mib(server.process.pid):.0f} MiB resident")
        print(f"{'connections':>11}  {'':<11}" + "".join(title.rjust(20) for title in COLUMNS_SHOWN))
        all_results = {}
        for connections in options.connections:
            all_results[connections] = compare(floor, server, files, connections, options)
            print_results(connections, all_results[connections])
        resident = resident_mib(server.process.pid)
        checked = sum(results["checked"] for results in all_results.values())
        print(f"{resident:.0f} MiB resident after the load; {checked} answers were checked beside it, all right")
        if options.json:
            figures = {"ready_s": server.ready_s, "resident_mib": resident, **to_json(all_results, server)}
            options.json.write_text(json.dumps(figures, indent=2) + "\n")
        if options.plot:
            plot(all_results, options.plot)


def numbers(text: str) -> list[int]:
    """For argparse: "1,16,64"."""
    values = [int(part) for part in text.split(",")]
    if not values or min(values) < 1:
        raise ValueError(text)
    return values


def positive(text: str) -> int:
    """For argparse: a whole number from 1."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def parse_arguments() -> argparse.Namespace:
    arguments = sys.argv[1:]
    command = [str(Path(sys.executable).with_name("asio-infer")), "serve", "tiny={model}", "--port", "{port}"]
    if "--" in arguments:
        at = arguments.index("--")
        arguments, command = arguments[:at], arguments[at + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="run.py [OPTIONS] [-- COMMAND ...]",
    )
    add = parser.add_argument
    add("--rounds", type=positive, default=5, help="rounds of each server for each number of connections (5)")
    add("--seconds", type=positive, default=2, help="length of a round (2)")
    add("--connections", type=numbers, default=[1, 16, 64], metavar="N,N", help="connections at a time (1,16,64)")
    add("--json", type=Path, metavar="FILE", help="write all figures there")
    add("--plot", type=Path, metavar="FILE.png", help="draw them there (matplotlib)")
    options = parser.parse_args(arguments)
    options.command = command
    return options


def main() -> int:
    options = parse_arguments()
    if shutil.which("wrk") is None:
        print("run.py: wrk is missing: install the Debian package wrk", file=sys.stderr)
        return 2
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        print("run.py: g++ is missing: install the Debian package g++ (or set CXX)", file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            measure(options, Path(folder))
    except ImportError as error:
        print(f"run.py: {error}; `make bench` installs what is needed", file=sys.stderr)
        return 2
    except (Failure, OSError, subprocess.CalledProcessError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
