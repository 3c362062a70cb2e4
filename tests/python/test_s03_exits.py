"""The end of a process with sessions alive: clean by every way out, alone or beside the runtime's package."""

import itertools
from typing import Any

import pytest

BEGIN = """
    import ctypes, os, signal, sys, threading
    {imports}
    import asio_infer as ai
    c = ctypes.CDLL(None)
    server = ai.Server(port=0, log=ai.Log(level="{level}"))
    server.register("add", sys.argv[1])
    server.register("loop", sys.argv[2], batching=None)
    {beside}
    server.start()
    x = [[1.0] * 4]
    assert server.infer("add", {{"A": x, "B": x}})["Y"].tolist() == [[2.0] * 4]
    def busy():
        try: server.infer("loop", {{"ITERS": [10**9]}})
        except ai.AsioInferError: pass
    {load}
"""
ENDS = {
    "the last line": ("", 0),
    "sys.exit": ("sys.exit(3)", 3),
    "an exception": ("raise ValueError", 1),
    "C's exit": ("c.exit(4)", 4),
    "C's quick_exit": ("c.quick_exit(5)", 5),
    "C's _exit": ("c._exit(6)", 6),
    "a signal": ("os.kill(os.getpid(), signal.SIGTERM); signal.pause()", -15),
    "stop and sys.exit": ("server.stop(0.1); sys.exit(7)", 7),
}
LOADS = {"idle": "", "busy": "threading.Thread(target=busy, daemon=True).start(); import time; time.sleep(0.05)"}
BESIDE = {
    "alone": ("", ""),
    "onnxruntime before": ("import onnxruntime", "other = onnxruntime.InferenceSession(sys.argv[1])"),
    "onnxruntime after": ("", "import onnxruntime; other = onnxruntime.InferenceSession(sys.argv[1])"),
}


def check_exit(run_script: Any, models: Any, end: str, load: str, beside: str, level: str = "off") -> None:
    imports, session = BESIDE[beside]
    text, status = ENDS[end]
    script = BEGIN.format(imports=imports, beside=session, load=LOADS[load], level=level) + f"    {text}\n"
    done = run_script(script, models / "add.onnx", models / "loop.onnx", timeout_s=60)
    assert done.returncode == status, done.stderr
    for word in ("Fatal", "terminate called", "corrupt", "Segmentation", "free()"):
        assert word not in done.stderr, done.stderr
    if level == "off" and end != "an exception":
        assert done.stderr == ""


@pytest.mark.parametrize("load", [pytest.param("idle", marks=pytest.mark.soak), "busy"])
@pytest.mark.parametrize("end", ENDS)
def test_every_way_out_is_clean(end: str, load: str, run_script: Any, models: Any) -> None:
    check_exit(run_script, models, end, load, "alone")


@pytest.mark.parametrize("beside", list(BESIDE)[1:])
@pytest.mark.parametrize("end", ["the last line", "C's exit"])
def test_with_the_runtime_s_own_package(end: str, beside: str, run_script: Any, models: Any) -> None:
    check_exit(run_script, models, end, "idle", beside)


def test_with_every_record_logged(run_script: Any, models: Any) -> None:
    check_exit(run_script, models, "the last line", "busy", "alone", level="debug")


@pytest.mark.soak
def test_every_way_out_again_and_again(run_script: Any, models: Any) -> None:
    for _ in range(10):
        for end, load, beside in itertools.product(ENDS, LOADS, BESIDE):
            check_exit(run_script, models, end, load, beside)
