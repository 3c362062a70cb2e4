"""The command `asio-infer`."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import asio_infer as ai
from processes import Process

COMMAND = [sys.executable, "-m", "asio_infer"]


def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return json.load(answer)


def serve(*arguments: object) -> Process:
    return Process(*COMMAND, "serve", *arguments)


def listening(process: Process) -> str:
    line = process.read_line()
    match = re.fullmatch(r"asio_infer listening on (http://\S+:\d+)", line)
    assert match, (line, process.finish())
    return match.group(1)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


# ---- serve


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_until_a_signal(number: int, models: Path) -> None:
    with serve(models / "add.onnx", f"mine={models / 'tiny.onnx'}", "--port", 0) as process:
        url = listening(process)
        assert get(f"{url}/v2/health/ready") == {"ready": True, "live": True}
        assert get(f"{url}/v2/models/add")["inputs"][0]["datatype"] == "FP32"
        assert get(f"{url}/v2/models/mine")["name"] == "mine"
        process.signal(number)
        status, out, err = process.finish()
        assert (status, out) == (0, "")
        assert "Traceback" not in err


def test_a_signal_right_after_the_line(models: Path) -> None:
    for _ in range(5):
        with serve(models / "add.onnx", "--port", 0, "--log-level", "off") as process:
            listening(process)
            process.signal(signal.SIGTERM)
            assert process.finish() == (0, "", "")


def test_a_drain_and_a_second_signal(tmp_path: Path) -> None:
    file = tmp_path / "slow.toml"
    file.write_text("[[model]]\nname = 'slow'\nwarmup = false\nidentity = { shape = [-1, 1], delay_s = 20 }\n")
    with serve("--config", file, "--port", 0, "--log-level", "off") as process:
        url = listening(process)
        body = json.dumps({"inputs": [{"name": "INPUT0", "shape": [1, 1], "datatype": "FP32", "data": [1]}]}).encode()

        def ask() -> None:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{url}/v2/models/slow/infer", body, timeout=30).close()

        asker = threading.Thread(target=ask)
        asker.start()
        running = 'asio_infer_requests_running{model="slow",version="1"} 1'
        while running not in urllib.request.urlopen(f"{url}/metrics").read().decode():
            time.sleep(0.01)
        process.signal(signal.SIGTERM)
        time.sleep(0.5)
        began = time.monotonic()
        process.signal(signal.SIGINT)
        status, _, err = process.finish()
        assert time.monotonic() - began < 5
        assert (status, err) == (0, "")
        asker.join()


def test_ipv6(models: Path) -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("no IPv6 loopback")
    with serve(models / "add.onnx", "--host", "::1", "--port", 0) as process:
        url = listening(process)
        assert url.startswith("http://[::1]:")
        assert get(f"{url}/v2/health/live") == {"live": True}


def test_arguments_go_before_the_file(models: Path, tmp_path: Path) -> None:
    port = free_port()
    file = tmp_path / "server.toml"
    file.write_text(
        f"""
        [server]
        port = 1
        [server.limits]
        max_body_bytes = 999
        [[model]]
        name = "one"
        path = {str(models / "tiny.onnx")!r}
        instances = 1
        [model.batching]
        max_size = 4
        """
    )
    arguments = ["--config", file, "--port", port, "--max-batch", 8, "--batch-delay-us", 100, "--instances", 2]
    with serve(*arguments, f"two={models / 'tiny.onnx'}") as process:
        assert listening(process) == f"http://127.0.0.1:{port}"
        for name in ("one", "two"):
            config = get(f"http://127.0.0.1:{port}/v2/models/{name}/config")
            assert config["max_batch_size"] == 8
            assert config["instance_group"][0]["count"] == 2
        with pytest.raises(urllib.error.HTTPError, match="413"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/models/one/infer", b"x" * 1000)


@pytest.mark.parametrize("max_batch", [1, 8])
def test_max_batch_suits_every_model(max_batch: int, models: Path) -> None:
    """A model whose requests cannot be joined is served with any --max-batch."""
    with serve(models / "fix1.onnx", models / "tiny.onnx", "--port", 0, "--max-batch", max_batch) as process:
        url = listening(process)
        assert get(f"{url}/v2/models/fix1/config")["max_batch_size"] == 0
        assert get(f"{url}/v2/models/tiny/config")["max_batch_size"] == (0 if max_batch == 1 else 8)


def test_an_equals_sign_in_a_path(models: Path, tmp_path: Path) -> None:
    path = tmp_path / "a=b.onnx"
    path.write_bytes((models / "add.onnx").read_bytes())
    with serve(f"m={path}", "--port", 0) as process:
        assert get(f"{listening(process)}/v2/models/m")["name"] == "m"


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_logs_go_to_stderr(log_format: str, models: Path) -> None:
    arguments = ["--port", 0, "--log-format", log_format, "--access-log", "--log-level", "info"]
    with serve(models / "add.onnx", *arguments) as process:
        get(f"{listening(process)}/v2/health/live")
        process.signal(signal.SIGTERM)
        status, out, err = process.finish()
    assert (status, out) == (0, "")
    assert "/v2/health/live" in err
    if log_format == "json":
        assert all(isinstance(json.loads(line), dict) for line in err.splitlines())


BAD_ARGUMENTS: list[tuple[list[str], str]] = [
    ([], "command"),
    (["nonsense"], "nonsense"),
    (["serve"], "nothing to serve"),
    (["serve", "--nonsense"], "nonsense"),
    (["serve", "a.onnx", "--port", "x"], "'x'"),
    (["serve", "a.onnx", "--port", "65536"], "65536"),
    (["serve", "a.onnx", "--port"], "--port"),
    (["serve", "a.onnx", "--max-batch", "0"], "0"),
    (["serve", "a.onnx", "--instances", "-1"], "-1"),
    (["serve", "a.onnx", "--log-level", "loud"], "loud"),
    (["serve", "=a.onnx"], "=a.onnx"),
    (["serve", "a="], "a="),
    (["serve", "a/b=a.onnx"], "a/b"),
    (["serve", "x=a.onnx", "x=b.onnx"], "'x'"),
    (["serve", "--config", "none.toml"], "none.toml"),
    (["inspect"], "MODEL"),
]


@pytest.mark.parametrize(("arguments", "word"), BAD_ARGUMENTS)
def test_bad_arguments(arguments: list[str], word: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("asio-infer: error: ")
    assert word in done.stderr


def test_a_bad_host(models: Path) -> None:
    done = run("serve", models / "add.onnx", "--host", "no such host", "--port", 0, "--log-level", "off")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_an_unknown_key_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[server]\nprot = 1\n")
    done = run("serve", "--config", "c.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("asio-infer: error: c.toml:2: unknown key 'prot'")
    assert len(done.stderr.splitlines()) == 1


def test_what_cannot_be_served(models: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"not a model\n\n")
    (tmp_path / "empty.onnx").touch()
    for path in ("none.onnx", "broken.onnx", "empty.onnx", "."):
        done = run("serve", f"m={path}", "--port", 0, "--log-level", "off", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1
        assert path in done.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", models / "add.onnx", "--port", port, "--log-level", "off")
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1
        assert str(port) in done.stderr


def test_without_onnx_runtime(models: Path, tmp_path: Path) -> None:
    """A package of that name without anything in it hides the real one."""
    (tmp_path / "onnxruntime").mkdir()
    (tmp_path / "onnxruntime" / "__init__.py").touch()
    done = run("serve", models / "add.onnx", "--port", 0, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install" in done.stderr
    assert len(done.stderr.splitlines()) == 1


# ---- inspect, help


def test_inspect(models: Path) -> None:
    done = run("inspect", models / "add.onnx")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"A +FP32 +\[N, 4\]", done.stdout)
    assert "batchable: yes" in done.stdout
    assert "batchable: no" in run("inspect", models / "fix1.onnx").stdout


def test_inspect_as_json(models: Path) -> None:
    described = json.loads(run("inspect", models / "tiny.onnx", "--json").stdout)
    assert described["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 16], "symbols": ["N", ""]}]
    assert described["outputs"][0]["name"] == "y"
    assert described["batchable"] is True
    described = json.loads(run("inspect", models / "zip.onnx", "--json").stdout)
    assert any("unsupported" in tensor for tensor in described["outputs"])


def test_inspect_what_is_no_model(models: Path, tmp_path: Path) -> None:
    for path in ("none.onnx", models / "refused" / "narrow_complex64.onnx"):
        done = run("inspect", path)
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["inspect", "--help"]])
def test_help_teaches_with_examples(arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "examples:" in done.stdout
    assert "asio-infer " in done.stdout


def test_version_and_the_installed_command() -> None:
    assert run("--version").stdout == f"asio_infer {ai.__version__}\n"
    command = Path(sys.executable).with_name("asio-infer")
    if command.exists():
        assert subprocess.check_output([command, "--version"], text=True) == f"asio_infer {ai.__version__}\n"


def test_the_file_of_the_help_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from asio_infer.config import load_config

    text = run("serve", "--help").stdout.split("a configuration file:\n")[1].split("\ntry it:")[0]
    file = tmp_path / "server.toml"
    file.write_text(text)
    assert load_config(file).models[0].options["batching"] == ai.Batching(max_size=8, max_delay_s=0.001)
