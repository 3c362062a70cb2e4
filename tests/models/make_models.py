#!/usr/bin/env python3
"""Write the test models of graphs.py into a folder.

    make_models.py DIR            write DIR/<name>.onnx, DIR/w.bin, DIR/refused/<name>.onnx
    make_models.py DIR --check    ... and compare every model with ONNX Runtime's results

Prints the files it wrote: nothing when all of them are up to date, which takes a moment and does not import onnx.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
STAMP = ".stamp.json"


def _write(path: Path, content: bytes) -> None:
    """Put the file in place whole, so that a second process never reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".making-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _version_key() -> str:
    """Changes with everything that the written bytes depend on."""
    key = hashlib.sha256(importlib.metadata.version("onnx").encode())
    for source in ("graphs.py", "make_models.py"):
        key.update((HERE / source).read_bytes())
    return key.hexdigest()


def _up_to_date(folder: Path, key: str) -> bool:
    try:
        stamp = json.loads((folder / STAMP).read_text())
        return stamp["key"] == key and all(
            (folder / name).stat().st_size == size for name, size in stamp["files"].items()
        )
    except (OSError, ValueError, KeyError):
        return False


def make_models(folder: Path) -> list[Path]:
    """Bring the models in `folder` up to date and return the files that were written."""
    key = _version_key()
    if _up_to_date(folder, key):
        return []
    import graphs

    contents = {name: content() for name, content in graphs.EXTERNAL_FILES.items()}
    contents.update({f"{name}.onnx": build().SerializeToString() for name, build in graphs.GRAPHS.items()})
    contents.update({f"refused/{name}.onnx": build().SerializeToString() for name, build in graphs.REFUSED.items()})
    written = []
    for name, content in contents.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != content:
            _write(path, content)
            written.append(path)
    sizes = {name: len(content) for name, content in contents.items()}
    _write(folder / STAMP, json.dumps({"key": key, "files": sizes}).encode())
    return written


# ---- --check -------------------------------------------------------------------------------------------------------


def check_models(folder: Path) -> None:
    """Run every model with ONNX Runtime; an AssertionError names the first one whose result is not the right one."""
    import ctypes

    import graphs
    import numpy as np
    import onnx
    import onnxruntime as ort

    ort.set_default_logger_severity(4)
    bf16 = onnx.TensorProto.BFLOAT16
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    sessions = {}
    for name in graphs.GRAPHS:
        if name != "any_rank":  # the checker wants a shape
            onnx.checker.check_model(str(folder / f"{name}.onnx"))
        sessions[name] = ort.InferenceSession(str(folder / f"{name}.onnx"), options, ["CPUExecutionProvider"])

    def run_bits(session: ort.InferenceSession, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        """As `run`, with BF16 as its bits in and out."""
        values = {k: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(v, bf16) for k, v in feed.items()}
        results = []
        for value in session.run_with_ort_values(None, values):
            if value.data_type() == "tensor(bfloat16)":
                size = int(np.prod(value.shape()))
                bits = ctypes.string_at(value.data_ptr(), size * 2) if size else b""
                results.append(np.frombuffer(bits, np.uint16).reshape(value.shape()))
            else:
                results.append(value.numpy())
        return results

    def run(name: str, **feed: np.ndarray) -> list[np.ndarray]:
        session = sessions[name]
        is_bf16 = any(i.type == "tensor(bfloat16)" for i in session.get_inputs())
        return run_bits(session, feed) if is_bf16 else session.run(None, feed)

    def must_fail(name: str, **feed: np.ndarray) -> None:
        try:
            run(name, **feed)
        except Exception:
            return
        raise AssertionError(f"{name}: this run should have failed")

    for name, examples in graphs.EXAMPLES.items():
        if name in ("id_bf16", "narrow_bfloat16") and not hasattr(ort.OrtValue, "ortvalue_from_numpy_with_onnx_type"):
            continue  # before 1.20, the runtime's Python cannot make a BF16 tensor
        for number, (inputs, outputs) in enumerate(examples):
            names = [output.name for output in sessions[name].get_outputs()]
            assert names == list(outputs), f"{name}: outputs {names}"
            results = dict(zip(names, run(name, **inputs), strict=True))
            for output, right in outputs.items():
                got = np.asarray(results[output])
                same = got.dtype == right.dtype and got.shape == right.shape and got.tobytes() == right.tobytes()
                if right.dtype == object:
                    same = got.shape == right.shape and got.tolist() == right.tolist()
                elif name == "log":
                    same = np.array_equal(got, right, equal_nan=True)
                assert same, f"{name}, example {number}: {output} is {got!r}, not {right!r}"

    # What the examples cannot say.
    rng = np.random.default_rng(0)
    must_fail("gather", IDX=np.array([1, 77], np.int64))
    must_fail("fix1", X=np.zeros((2, 4), np.float32))
    if tuple(map(int, ort.__version__.split(".")[:2])) >= (1, 25):  # an older one ends this process
        must_fail("div", A=np.array([1], np.int32), B=np.array([0], np.int32))
    assert [i.name for i in sessions["kopt"].get_inputs()] == ["X"]
    assert [i.name for i in sessions["kopt"].get_overridable_initializers()] == ["K"]
    assert run("opt", X=None)[0].tolist() == [-1, -1]
    assert run("scalar", X=np.array([2.5], np.float32))[0].tolist() == [5]
    assert run("zip", X=np.eye(2, 3, dtype=np.float32))[0] == [{0: 1, 1: 0, 2: 0}, {0: 0, 1: 1, 2: 0}]
    assert run("zip_label", X=np.eye(2, 3, dtype=np.float32))[0].tolist() == [0, 1]
    assert [t.shape for t in run("seq", X=np.zeros((3, 2), np.float32))[0]] == [(1, 2)] * 3
    for name in graphs.REFUSED:
        try:
            ort.InferenceSession(str(folder / "refused" / f"{name}.onnx"))
        except Exception:
            continue
        raise AssertionError(f"{name}: should not load")

    # Rows alone and together: independent in the first group, not in the second.
    for name in ("tiny", "cnn", "norm_over_batch", "quantised"):
        shape = sessions[name].get_inputs()[0].shape[1:]
        x = np.stack([row * rng.standard_normal(shape) for row in range(1, 6)]).astype(np.float32)
        together = run(name, x=x)[0]
        alone = np.concatenate([run(name, x=x[i : i + 1])[0] for i in range(len(x))])
        difference = float(np.max(np.abs(together - alone)) / np.max(np.abs(together)))
        if name in ("tiny", "cnn"):
            assert difference < 1e-5, f"{name}: rows alone differ from rows together by {difference}"
        else:
            assert difference > 1e-3, f"{name}: rows alone are rows together, to {difference}"

    # From bytes, the runtime looks for w.bin in the working directory.
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as elsewhere:
        try:
            os.chdir(elsewhere)
            ort.InferenceSession((folder / "ext.onnx").read_bytes())
        except Exception:
            pass
        else:
            raise AssertionError("ext: loads from bytes in another folder")
        finally:
            os.chdir(before)


def main() -> int:
    """Read the command line and do as it says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="DIR", type=Path, help="where the models go; made if missing")
    parser.add_argument("--check", action="store_true", help="compare every model with ONNX Runtime's results")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    for path in make_models(folder):
        print(f"wrote {path}")
    if arguments.check:
        check_models(folder)
        print("all models give the right results")
    return 0


if __name__ == "__main__":
    sys.exit(main())
