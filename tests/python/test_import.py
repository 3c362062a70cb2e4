"""What importing costs, and that it gets on with other packages."""

import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import asio_infer as ai
from asio_infer import _core, runtime
from processes import Process

HEAVY = ("numpy", "onnx", "onnxruntime", "asyncio", "ssl", "http", "typing_extensions", "importlib.metadata")


def test_version() -> None:
    from importlib import metadata

    assert ai.__version__ == metadata.version("asio_infer")


def test_importing_is_cheap(run_script: Any) -> None:
    done = run_script(f"import sys, asio_infer; print([name for name in {HEAVY} if name in sys.modules])")
    assert done.stdout == "[]\n"


def test_serving_does_not_import_numpy(run_script: Any, models: Path) -> None:
    done = run_script(
        f"""
        import sys, urllib.request, asio_infer as ai
        heavy = {HEAVY}
        with ai.Server(port=0, log=ai.Log(level="off")) as server:
            server.register("tiny", sys.argv[1])
            server.models(), server.stats(), server.metrics()
            print([name for name in heavy if name in sys.modules and not name.startswith(("http", "ssl"))])
        """,
        models / "tiny.onnx",
    )
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_a_server(models: Path) -> None:
    """At most 75 MiB resident with a tiny model, Python included."""
    with Process(sys.executable, "-m", "asio_infer", "serve", models / "tiny.onnx", "--port", 0) as process:
        process.read_line()
        status = Path(f"/proc/{process.pid}/status").read_text()
        resident_kib = int(status.split("VmRSS:")[1].split()[0])
        assert resident_kib <= 75 * 1024


def test_the_public_names() -> None:
    for name in ai.__all__:
        assert getattr(ai, name) is not None
    assert len(set(ai.__all__)) == len(ai.__all__)
    for name in ("Server", "Batching", "Queue", "Limits", "Log", "Model", "Identity", "AsioInferError"):
        kind = getattr(ai, name)
        assert kind.__module__ == "asio_infer"
        assert kind.__doc__


# ---- ONNX Runtime


def fake_runtime(folder: Path, version: str, library: bool = True) -> None:
    package = folder / "onnxruntime"
    (package / "capi").mkdir(parents=True)
    (package / "__init__.py").write_text(f'__version__ = "{version}"\nraise RuntimeError("imported")\n')
    if library:
        (package / "capi" / "libonnxruntime.so.1").write_bytes(b"not a library")


def test_the_runtime_is_found_without_importing_it() -> None:
    found = runtime.find_runtime()
    spec = importlib.util.find_spec("onnxruntime")
    assert spec is not None
    assert spec.origin is not None
    assert found.library.is_relative_to(Path(spec.origin).parent)
    assert found.version.count(".") >= 2


@pytest.mark.parametrize(
    ("version", "library", "kind", "words"),
    [
        ("1.18.1", True, "RuntimeVersionError", ["1.18.1", "1.19"]),
        ("0.9", True, "RuntimeVersionError", ["0.9", "1.19"]),
        ("1.25.0", False, "ImportError", ["1.25.0", "pip install"]),
        ("1.25.0", True, "ImportError", ["libonnxruntime.so.1"]),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the library has another name")
def test_a_runtime_that_cannot_be_used(
    version: str, library: bool, kind: str, words: list[str], run_script: Any, tmp_path: Path, models: Path
) -> None:
    fake_runtime(tmp_path, version, library)
    done = run_script(
        """
        import sys, asio_infer as ai
        server = ai.Server(port=0, log=ai.Log(level="off"))
        server.register("echo", ai.Identity())          # needs none
        try:
            server.register("tiny", sys.argv[1])
        except ImportError as error:
            print(type(error).__name__, error)
            assert isinstance(error, ImportError)
        with server: print(len(server.models()))
        """,
        models / "tiny.onnx",
    )
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert first.startswith(kind)
    assert all(word in first for word in words)
    assert last == "1"


def test_without_a_runtime(run_script: Any, models: Path) -> None:
    done = run_script(
        """
        import sys, importlib.util
        real = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *rest: None if name == "onnxruntime" else real(name, *rest)
        import asio_infer as ai
        with ai.Server(port=0, log=ai.Log(level="off")) as server:
            server.register("echo", ai.Identity(shape=(-1, 4)))
            print(server.infer("echo", {"INPUT0": [[1.0] * 4]})["OUTPUT0"].shape)
            try:
                server.register("tiny", sys.argv[1])
            except ImportError as error:
                print(error)
        """,
        models / "tiny.onnx",
    )
    shape, error = done.stdout.splitlines()
    assert shape == "(1, 4)"
    assert 'pip install "asio_infer[cpu]"' in error


def test_a_runtime_of_the_program_beside_ours(run_script: Any, models: Path) -> None:
    """Both copies give right answers, whichever comes first, and with another library of that name in the way."""
    for order in (["onnxruntime", "asio_infer"], ["asio_infer", "onnxruntime"]):
        done = run_script(
            f"""
            import sys, numpy as np
            import {order[0]}
            import {order[1]}
            a = np.ones((2, 4), np.float32)
            def theirs(): return onnxruntime.InferenceSession(sys.argv[1]).run(None, {{"A": a, "B": a}})[0].sum()
            def ours():
                with asio_infer.Server(port=0, log=asio_infer.Log(level="off")) as server:
                    server.register("add", sys.argv[1])
                    return server.infer("add", {{"A": a, "B": a}})["Y"].sum()
            first, second = (theirs, ours) if {order[0] == "onnxruntime"} else (ours, theirs)
            print(first(), second(), theirs(), ours())
            """,
            models / "add.onnx",
        )
        assert (done.returncode, done.stdout) == (0, "16.0 16.0 16.0 16.0\n"), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="LD_LIBRARY_PATH")
def test_a_stale_library_in_the_way(run_script: Any, models: Path, tmp_path: Path) -> None:
    (tmp_path / "libonnxruntime.so.1").write_bytes(b"stale")
    done = run_script(
        """
        import sys, asio_infer as ai
        with ai.Server(port=0, log=ai.Log(level="off")) as server:
            server.register("add", sys.argv[1])
            print(server.infer("add", {"A": [[1.0] * 4], "B": [[1.0] * 4]})["Y"].sum())
        """,
        models / "add.onnx",
        LD_LIBRARY_PATH=str(tmp_path),
    )
    assert done.stdout == "8.0\n", done.stderr


# ---- Other packages

OTHERS = [
    name
    for name in ("numpy", "onnx", "onnxruntime", "grpc", "google.protobuf", "torch")
    if importlib.util.find_spec(name.split(".")[0]) and importlib.util.find_spec(name)
]


ORDERS = [
    *itertools.permutations(["asio_infer", "onnx", "onnxruntime"]),
    *((other, "asio_infer") for other in OTHERS),
    *(("asio_infer", other) for other in OTHERS),
]


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_every_order_of_imports(order: tuple[str, ...], run_script: Any, models: Path) -> None:
    imports = "; ".join(f"import {name}" for name in order)
    done = run_script(
        f"""
        {imports}
        import sys, asio_infer as ai
        with ai.Server(port=0, log=ai.Log(level="off")) as server:
            server.register("add", sys.argv[1])
            print(server.infer("add", {{"A": [[1.0] * 4], "B": [[1.0] * 4]}})["Y"].sum())
        """,
        models / "add.onnx",
    )
    assert (done.returncode, done.stdout) == (0, "8.0\n"), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="sets dlopen flags")
def test_with_all_symbols_global(run_script: Any, models: Path) -> None:
    done = run_script(
        """
        import os, sys
        sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
        import onnx, onnxruntime, asio_infer as ai
        with ai.Server(port=0, log=ai.Log(level="off")) as server:
            server.register("add", sys.argv[1])
            print(server.infer("add", {"A": [[1.0] * 4], "B": [[1.0] * 4]})["Y"].sum())
        """,
        models / "add.onnx",
    )
    assert (done.returncode, done.stdout) == (0, "8.0\n"), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="uses nm")
def test_the_module_exports_its_entry_point_only() -> None:
    text = subprocess.check_output(["nm", "-D", "--defined-only", _core.__file__], text=True)
    assert [line.split()[-1] for line in text.splitlines()] == ["PyInit__core"]


def test_a_sub_interpreter(run_script: Any) -> None:
    """Refused clearly, or it works: never stuck."""
    done = run_script(
        """
        import asio_infer, sys
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        inner = interpreters.create()
        code = "try:\\n import asio_infer\\nexcept ImportError as error: print('ImportError')\\nelse: print('works')"
        interpreters.run_string(inner, code)
        interpreters.destroy(inner)
        print("end")
        """,
        timeout_s=20,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "end"
