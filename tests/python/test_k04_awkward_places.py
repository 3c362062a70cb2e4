"""The package and models work from wherever they lie: paths with blanks and accents, long ones, odd environments."""

import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asio_infer as ai
from asio_infer import _core

ONE = np.ones((1, 4), np.float32)
FOLDERS = {
    "blanks": "a folder  with blanks ",
    "accents": "é ü ñ 模型 😀",
    "long": "/".join(["l" * 60] * 5),
    "quotes": 'it\'s a "folder" $HOME %s {x} #1 [y]',
    "newline": "a\nb",
}
every_folder = pytest.mark.parametrize("name", FOLDERS.values(), ids=FOLDERS.keys())

SERVE = """
    import sys
    sys.path[:0] = sys.argv[2:]
    import asio_infer as ai, numpy as np
    one = np.ones((1, 4), np.float32)
    with ai.Server(port=0, log=ai.Log(level="error")) as server:
        server.register("add", sys.argv[1])
        assert server.infer("add", {"A": one, "B": one})["Y"].tolist() == [[2, 2, 2, 2]]
    print(ai.__file__)
"""


@every_folder
def test_a_model_in_any_folder(name: str, models: Path, tmp_path: Path, idle_server: ai.Server) -> None:
    folder = tmp_path / name
    folder.mkdir(parents=True)
    for file in ("add.onnx", "ext.onnx", "w.bin"):
        shutil.copyfile(models / file, folder / file)
    idle_server.register("add", folder / "add.onnx")
    idle_server.register("ext", str(folder / "ext.onnx"))
    with idle_server:
        assert idle_server.infer("add", {"A": ONE, "B": ONE})["Y"].tolist() == [[2] * 4]
        assert idle_server.infer("ext", {"X": np.zeros((1, 4096), np.float32)})["Y"][0, -1] == 4095


def test_a_model_in_a_folder_whose_name_is_not_utf_8(models: Path, tmp_path: Path, idle_server: ai.Server) -> None:
    """Loaded or refused: never an error that does not name the path."""
    folder = tmp_path / os.fsdecode(b"latin-\xe9")
    folder.mkdir()
    shutil.copyfile(models / "add.onnx", folder / "add.onnx")
    try:
        assert idle_server.register("add", folder / "add.onnx").name == "add"
    except ai.InvalidRequest as refused:
        assert "UTF-8" in str(refused)  # noqa: PT017


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Lays the package out as an installation would, in a folder of this name."""

    def lay_out(name: str) -> Path:
        site = tmp_path_factory.mktemp("site") / name / "site-packages"
        package = Path(ai.__file__).parent
        shutil.copytree(package, site / "asio_infer", ignore=shutil.ignore_patterns("__pycache__"))
        assert _core.__file__ is not None
        shutil.copy(_core.__file__, site / "asio_infer")
        return site

    return lay_out


def run(*options: str, site: Path, model: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Serve from the installation in `site`, with the other packages of this environment behind it."""
    others = sysconfig.get_path("purelib")
    return subprocess.run(
        [sys.executable, "-B", "-S", *options, "-c", textwrap.dedent(SERVE), model, site, others],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=60,
    )


@pytest.mark.parametrize("name", [FOLDERS[key] for key in ("blanks", "accents", "long", "quotes")])
def test_the_package_in_any_folder(name: str, installed: Callable[[str], Path], models: Path) -> None:
    site = installed(name)
    files = sorted(site.rglob("*"))
    done = run(site=site, model=models / "add.onnx")
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.removesuffix("\n")).parent == site / "asio_infer"
    assert sorted(site.rglob("*")) == files, "it wrote beside itself"


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (("-I",), {}),
        ((), {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        ((), {"HOME": "/nowhere", "TMPDIR": "/nowhere", "XDG_CACHE_HOME": "/nowhere"}),
        (("-O", "-O"), {}),
        (("-W", "error"), {}),
    ],
    ids=["isolated", "C locale", "no home", "optimised", "warnings are errors"],
)
def test_the_package_in_odd_environments(
    options: tuple[str, ...], environment: dict[str, str], installed: Callable[[str], Path], models: Path
) -> None:
    # Without UTF-8 Python 3.13 itself imports no extension, its own included, from a path that is not ASCII.
    site = installed("plain" if "LC_ALL" in environment else "plain é")
    done = run(*options, site=site, model=models / "add.onnx", **environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_a_working_directory_that_is_gone(run_script: Any, models: Path) -> None:
    done = run_script(
        """
        import os, sys, tempfile
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        os.rmdir(folder)
        import asio_infer as ai
        with ai.Server(port=0, log=ai.Log(level="error")) as server:
            server.register("add", sys.argv[1])
            print(server.infer("add", {"A": [[1.0] * 4], "B": [[1.0] * 4]})["Y"].tolist())
        """,
        models / "add.onnx",
    )
    assert (done.returncode, done.stdout) == (0, "[[2.0, 2.0, 2.0, 2.0]]\n"), done.stderr


def test_without_standard_streams(run_script: Any, models: Path, tmp_path: Path) -> None:
    """As under a service manager that closes them: descriptors 0 to 2 then belong to whatever is opened next."""
    result = tmp_path / "result"
    done = run_script(
        """
        import os, sys
        for descriptor in (0, 1, 2): os.close(descriptor)
        import asio_infer as ai
        with ai.Server(port=0, log=ai.Log(level="debug", access=True)) as server:
            server.register("add", sys.argv[1])
            y = server.infer("add", {"A": [[1.0] * 4], "B": [[1.0] * 4]})["Y"]
        open(sys.argv[2], "w").write(str(y.tolist()))
        os._exit(0)
        """,
        models / "add.onnx",
        result,
    )
    assert done.returncode == 0
    assert result.read_text() == "[[2.0, 2.0, 2.0, 2.0]]"
