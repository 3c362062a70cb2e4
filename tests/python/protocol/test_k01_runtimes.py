"""Other versions of ONNX Runtime than the installed one: each that is accepted gives right answers.

These need a package index; without one they are skipped. What is refused, and two runtimes in one process, is tested in
test_import.py.
"""

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.soak

SCRIPT = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import numpy as np
    import asio_infer as ai
    from asio_infer.runtime import find_runtime

    assert find_runtime().version == sys.argv[3], find_runtime()
    x = np.array([[1, 2, 3, 4]], np.float32)
    with ai.Server(port=0) as server:
        for name in ("add", "tiny", "cnn", "str", "two_outputs", "gather"):
            server.register(name, f"{sys.argv[2]}/{name}.onnx", instances=2)
        assert server.infer("add", {"A": x, "B": x * 10})["Y"].tolist() == [[11, 22, 33, 44]]
        assert server.infer("str", {"X": np.array(["a\\0b", ""], object)})["Y"].tolist() == [b"a\\0b", b""]
        assert server.infer("gather", {"IDX": np.array([9])})["Y"].tolist() == [13.5]
        try:
            server.infer("gather", {"IDX": np.array([77])})
        except ai.ModelError:
            pass
        else:
            raise AssertionError("the run should have failed")
        assert f'onnxruntime="{sys.argv[3]}"' in server.metrics()
    print("right")
"""


@pytest.mark.parametrize("version", ["1.19.2", "1.20.1", "1.22.1", "1.23.2"])
def test_an_older_runtime(version: str, run_script: Any, models: Path, tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", wheels]
    got = subprocess.run([*command, f"onnxruntime=={version}"], capture_output=True, text=True)
    if got.returncode != 0:
        pytest.skip(f"there is no wheel of {version} here")
    with zipfile.ZipFile(next(wheels.iterdir())) as wheel:
        wheel.extractall(tmp_path / "site")
    done = run_script(SCRIPT, tmp_path / "site", models, version, timeout_s=120)
    assert done.stdout.splitlines()[-1:] == ["right"], done.stderr[-3000:]
    assert done.returncode == 0
