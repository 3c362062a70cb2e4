"""Options of servers and models: frozen dataclasses, checked where they are made.

A wrong type is a `TypeError`, a wrong value an `InvalidRequest` (a `ValueError`); both name the option and the value.
"""

from __future__ import annotations

import enum
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal

from asio_infer.errors import InvalidRequest

LogFormat = Literal["text", "json", "logging"]
LogLevel = Literal["debug", "info", "warning", "error", "off"]

LOG_LEVELS: Final = ("debug", "info", "warning", "error", "off")
LOG_FORMATS: Final = ("text", "json", "logging")


class Auto(enum.Enum):
    """The type of `AUTO`."""

    AUTO = "auto"

    def __repr__(self) -> str:
        return "AUTO"


AUTO: Final = Auto.AUTO
"""Let the package decide: batching if the model allows it, warm-up where it can be done."""


def check_int(name: str, value: object, low: int, high: int) -> int:
    """Return `value` if it is an integer from `low` to `high`.

    Raises:
        TypeError: It is no integer (a bool is none).
        InvalidRequest: It is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if not low <= value <= high:
        raise InvalidRequest(f"{name} must be from {low} to {high}, not {value}")
    return value


def check_seconds(name: str, value: object, high: float = 86_400.0, *, zero: bool = True) -> float:
    """Return `value` if it is a finite number of seconds up to `high`; 0 only if `zero`.

    Raises:
        TypeError: It is no number.
        InvalidRequest: It is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number of seconds, not {value!r}")
    if not (math.isfinite(value) and 0 <= value <= high and (zero or value > 0)):
        above = "from 0" if zero else "more than 0 and up"
        raise InvalidRequest(f"{name} must be {above} to {high:g} seconds, not {value!r}")
    return float(value)


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`.

    Raises:
        TypeError: It is no str.
        InvalidRequest: It is another one.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {value!r}")
    if value not in choices:
        raise InvalidRequest(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    return value


@dataclass(frozen=True, kw_only=True, slots=True)
class Batching:
    """How requests of one model are joined into one run. Limits count rows.

    Attributes:
        max_size: Most rows in one run, 1 to 65,536. 1 turns joining off.
        max_delay_s: Extra seconds that a request may wait for others while an instance is idle. 0, the default,
            never holds a request back: what arrives together and what waits for a busy instance is joined anyway.
    """

    max_size: int = 32
    max_delay_s: float = 0.0

    def __post_init__(self) -> None:
        check_int("Batching.max_size", self.max_size, 1, 65_536)
        check_seconds("Batching.max_delay_s", self.max_delay_s, 60.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Queue:
    """How requests of one model wait while its instances are busy.

    Attributes:
        max_size: Requests that may wait, 1 to 1,000,000; one more is `QueueFull`.
        timeout_s: Longest wait in the queue in seconds before `DeadlineExceeded`; None or 0 for no such limit. It does
            not limit the run; the time of a call as a whole is its own `timeout_s`, or its parameter `timeout`.
    """

    max_size: int = 256
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        check_int("Queue.max_size", self.max_size, 1, 1_000_000)
        if self.timeout_s is not None:
            check_seconds("Queue.timeout_s", self.timeout_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """What is logged, and how.

    Attributes:
        level: The least severity that is kept: "debug", "info", "warning", "error" or "off".
        format: "text" or "json" for lines on stderr, written by a thread of their own; "logging" for Python's logger
            "asio_infer".
        access: One line for each request.
    """

    level: LogLevel = "info"
    format: LogFormat = "text"
    access: bool = False

    def __post_init__(self) -> None:
        check_choice("Log.level", self.level, LOG_LEVELS)
        check_choice("Log.format", self.format, LOG_FORMATS)
        if not isinstance(self.access, bool):
            raise TypeError(f"Log.access must be a bool, not {self.access!r}")


@dataclass(frozen=True, kw_only=False, slots=True)
class Tls:
    """TLS for the server's port: HTTP/1.1 and HTTP/2 by ALPN, TLS 1.2 and newer. Files are PEM.

    Attributes:
        certificate: The server's certificate, followed by those that lead to its root.
        key: Its private key, without a passphrase.
        client_ca: If given, clients must show a certificate that one of these has signed.
        reload: Use the files' new content for new connections when they change. Open connections are not touched, and
            files that do not fit together leave the old ones in use.
    """

    certificate: str | os.PathLike[str]
    key: str | os.PathLike[str]
    client_ca: str | os.PathLike[str] | None = None
    reload: bool = True

    def __post_init__(self) -> None:
        for name in ("certificate", "key", "client_ca"):
            value = getattr(self, name)
            if value is None and name == "client_ca":
                continue
            if not isinstance(value, str | os.PathLike):
                raise TypeError(f"Tls.{name} must be a path, not {value!r}")
            if not os.path.isfile(value):
                raise InvalidRequest(f"Tls.{name}: there is no file {os.fspath(value)!r}")
        if not isinstance(self.reload, bool):
            raise TypeError(f"Tls.reload must be a bool, not {self.reload!r}")


_LARGEST_SIZE: Final = 2**40


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Every bound of the server.

    Attributes:
        max_body_bytes: The largest request body.
        max_header_bytes: The largest request header.
        max_json_depth: The deepest nesting of JSON.
        max_pipelined_requests: Requests that one connection may have unanswered.
        max_concurrent_streams: Requests that one HTTP/2 connection may have under way; its client holds back more.
        max_connections: Connections at a time.
        max_parameters: Names in one "parameters" object.
        max_tensors: Inputs, or requested outputs, of one request.
        max_rank: Dimensions of one tensor.
        max_shared_memory_regions: Regions of shared memory that clients may have registered.
        inflight_bytes: Bytes that all requests and responses together may hold; None for a quarter of the memory
            that the process may use.
        min_bytes_per_s: A body that arrives slower than this, or an answer that is read slower, is given up when the
            progress timeout is used up; 0 lets any progress count.
        inline_max_us: A model whose run takes up to this many microseconds (its 99th percentile) may run on a
            network thread.
        offload_bytes: JSON larger than this is parsed and printed by worker threads.
        handshake_timeout_s: Seconds for a TLS handshake.
        header_timeout_s: Seconds for a request header to arrive.
        body_progress_timeout_s: Seconds that a body may pause.
        idle_timeout_s: Seconds that a connection may be idle.
        write_progress_timeout_s: Seconds that the client may pause in taking its answer.
        linger_timeout_s: Seconds that a connection is still read behind its last answer, so that the client sees the
            answer and not a reset.
        drain_timeout_s: Seconds that `Server.stop` waits for requests that are under way.
    """

    max_body_bytes: int = 64 << 20
    max_header_bytes: int = 32 << 10
    max_json_depth: int = 100
    max_pipelined_requests: int = 64
    max_concurrent_streams: int = 100
    max_connections: int = 16_384
    max_parameters: int = 256
    max_tensors: int = 1_024
    max_rank: int = 64
    max_shared_memory_regions: int = 1_024
    inflight_bytes: int | None = None
    min_bytes_per_s: int = 1_024
    inline_max_us: int = 250
    offload_bytes: int = 64 << 10
    handshake_timeout_s: float = 10.0
    header_timeout_s: float = 10.0
    body_progress_timeout_s: float = 30.0
    idle_timeout_s: float = 75.0
    write_progress_timeout_s: float = 30.0
    linger_timeout_s: float = 5.0
    drain_timeout_s: float = 30.0

    def __post_init__(self) -> None:
        for field in fields(self):
            name, value = f"Limits.{field.name}", getattr(self, field.name)
            if field.name.endswith("_s"):
                check_seconds(name, value, zero=field.name == "drain_timeout_s")
            elif field.name == "inline_max_us":
                check_int(name, value, 0, 1_000_000)
            elif field.name == "min_bytes_per_s":
                check_int(name, value, 0, _LARGEST_SIZE)
            elif field.name == "max_json_depth":
                check_int(name, value, 1, 1_000)
            elif field.name != "inflight_bytes" or value is not None:
                check_int(name, value, 1, _LARGEST_SIZE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """A model that gives back what it gets: for tests and benchmarks of everything around a model.

    Its inputs are called INPUT0, INPUT1, ..., its outputs OUTPUT0, OUTPUT1, ... It needs no ONNX Runtime.

    Attributes:
        datatype: The protocol's name of the element type ("FP32", "BYTES", ...).
        shape: The dimensions of every tensor, the batch axis included; -1 is any size, () a scalar.
        inputs: How many inputs, and outputs, 1 to 64.
        delay_s: Seconds that each run takes.
        fail: Which runs fail with `ModelError`: "" for none, "always", "nth:N" for every N-th, "row:VALUE" for those
            with a row whose first element is VALUE.
    """

    datatype: str = "FP32"
    shape: Sequence[int] = (-1, -1)
    inputs: int = 1
    delay_s: float = 0.0
    fail: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.datatype, str):
            raise TypeError(f"Identity.datatype must be a str, not {self.datatype!r}")
        for size in self.shape:
            check_int("Identity.shape", size, -1, 2**62)
        check_int("Identity.inputs", self.inputs, 1, 64)
        check_seconds("Identity.delay_s", self.delay_s, 3600.0)
        if not isinstance(self.fail, str):
            raise TypeError(f"Identity.fail must be a str, not {self.fail!r}")
