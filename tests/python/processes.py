"""Processes under test."""

import os
import subprocess


class Process:
    """A process under test; ends with the `with` block."""

    def __init__(self, *arguments: object, **environment: str) -> None:
        self._process = subprocess.Popen(
            list(map(str, arguments)),
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        self._process.communicate()

    def read_line(self) -> str:
        """The next line of its standard output, without the line's end."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n")

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    @property
    def pid(self) -> int:
        return self._process.pid

    def finish(self, timeout_s: float = 30) -> tuple[int, str, str]:
        """Waits for its end: exit status and what it wrote since to stdout and stderr."""
        out, err = self._process.communicate(timeout=timeout_s)
        return self._process.returncode, out, err
