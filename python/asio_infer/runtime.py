"""Where ONNX Runtime's library is: found beside the installed `onnxruntime*` package, which is never imported."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from asio_infer.errors import RuntimeVersionError

OLDEST: Final = (1, 19)
"""The first version whose wheels carry the library as a file of its own."""

HOW_TO_INSTALL: Final = (
    "ONNX Runtime is needed for ONNX models and is not installed. Install it: "
    'pip install "asio_infer[cpu]", or "asio_infer[gpu]" for CUDA'
)

_PATTERNS: Final = {"win32": "onnxruntime.dll", "darwin": "libonnxruntime*.dylib"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Runtime:
    """An ONNX Runtime that can be loaded.

    Attributes:
        library: The file to load.
        version: The version of the package that brought it ("1.22.0"); "" if it does not say.
    """

    library: Path
    version: str


def _package_folder() -> Path | None:
    try:
        spec = importlib.util.find_spec("onnxruntime")
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _package_version(folder: Path) -> str:
    """The version that the package's own source states: its wheels go by many names."""
    try:
        text = (folder / "__init__.py").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    match = re.search(r"""^__version__\s*=\s*["']([^"']+)["']""", text, re.MULTILINE)
    return match.group(1) if match else ""


def _too_old(version: str) -> bool:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers.group(1)), int(numbers.group(2))) < OLDEST


def _library(folder: Path) -> Path | None:
    pattern = _PATTERNS.get(sys.platform, "libonnxruntime.so*")
    return min(sorted((folder / "capi").glob(pattern)), key=lambda file: len(file.name), default=None)


def find_runtime() -> Runtime:
    """Find the ONNX Runtime of this Python environment.

    Raises:
        RuntimeVersionError: It is older than 1.19.
        ImportError: There is none, or its library is missing; the text says what to install.
    """
    folder = _package_folder()
    if folder is None:
        raise ImportError(HOW_TO_INSTALL)
    version = _package_version(folder)
    oldest = ".".join(map(str, OLDEST))
    if _too_old(version):
        raise RuntimeVersionError(
            f"ONNX Runtime {version} in {folder} is too old: version {oldest} or newer is needed. "
            f'Upgrade it: pip install --upgrade "onnxruntime>={oldest}"'
        )
    library = _library(folder)
    if library is None:
        raise ImportError(f"ONNX Runtime {version} in {folder} has no library in its folder capi. {HOW_TO_INSTALL}")
    return Runtime(library=library, version=version)
