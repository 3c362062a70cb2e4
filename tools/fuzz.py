#!/usr/bin/env python3
"""Runs the fuzz targets of a build folder for a while and says in one line each what came of it. `make fuzz` calls it.

A target starts from its committed seeds and from what earlier runs found, which is kept in BUILD/fuzz-corpus/TARGET/.
An input that ends a target is written to BUILD/fuzz-artifacts/, its log to BUILD/fuzz-logs/. Exit status 1 if there
is one.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "tests" / "cpp" / "fuzz"
MAX_INPUT_BYTES = 4096  # short inputs reach as far, and far more of them run
MEMORY_LIMIT_MB = 1024  # of the process; one allocation may have MALLOC_LIMIT_MB
MALLOC_LIMIT_MB = 64
INPUT_TIMEOUT_S = 10


class Target:
    def __init__(self, name: str, build: Path) -> None:
        self.name = name
        self.program = build / "tests" / "cpp" / "fuzz" / f"fuzz_{name}"
        self.seeds = SOURCES / "corpus" / name
        self.dictionary = SOURCES / "dictionaries" / f"{name}.dict"
        self.found = build / "fuzz-corpus" / name
        self.artifacts = build / "fuzz-artifacts"
        self.log = build / "fuzz-logs" / f"{name}.log"
        for folder in (self.found, self.artifacts, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)

    def command(self, seconds: int) -> list[str]:
        return [
            str(self.program),
            f"-max_total_time={seconds}",
            f"-max_len={MAX_INPUT_BYTES}",
            f"-rss_limit_mb={MEMORY_LIMIT_MB}",
            f"-malloc_limit_mb={MALLOC_LIMIT_MB}",
            f"-timeout={INPUT_TIMEOUT_S}",
            f"-dict={self.dictionary}",
            f"-artifact_prefix={self.artifacts}/{self.name}-",
            "-print_final_stats=1",
            str(self.found),
            str(self.seeds),
        ]

    def run(self, seconds: int) -> bool:
        """Whether nothing was found. Prints the line."""
        environment = {"UBSAN_OPTIONS": "print_stacktrace=1", **os.environ}
        with self.log.open("wb") as log:
            status = subprocess.run(
                self.command(seconds), stdout=log, stderr=subprocess.STDOUT, env=environment, check=False
            ).returncode
        text = self.log.read_text(errors="replace")
        print(self.summary(text, status), flush=True)
        return status == 0

    def summary(self, log: str, status: int) -> str:
        executions = last(r"stat::number_of_executed_units: (\d+)", log)
        per_second = last(r"stat::average_exec_per_sec: +(\d+)", log)
        edges = last(r"\bcov: (\d+)", log)
        line = f"{self.name}: {executions} executions, {per_second}/s, {edges} edges, "
        if status == 0:
            return line + "no crash"
        artifact = last(r"Test unit written to (\S+)", log)
        return f"{line}1 crash\n  input: {artifact}\n  log:   {self.log}"


def last(pattern: str, text: str) -> str:
    found = re.findall(pattern, text)
    return found[-1] if found else "?"


def names(wanted: list[str]) -> Iterator[str]:
    everything = sorted(path.stem for path in SOURCES.glob("*.cpp") if path.stem != "run_corpus")
    for name in wanted or everything:
        if name not in everything:
            sys.exit(f"no fuzz target {name}; there are: {', '.join(everything)}")
        yield name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="the build folder of the preset fuzz")
    parser.add_argument("targets", nargs="*", help="all if none is named")
    parser.add_argument("--seconds", type=int, default=120, help="for each target")
    parser.add_argument("--jobs", type=int, default=1, help="how many targets run at once")
    options = parser.parse_args()
    targets = [Target(name, options.build.resolve()) for name in names(options.targets)]
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(lambda target: target.run(options.seconds), targets))
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
