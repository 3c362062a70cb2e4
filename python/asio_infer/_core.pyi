"""The compiled part of asio_infer. Private: use the names of the package."""

import asyncio
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

__version__: str

class LogLevel(Enum):
    debug = 10
    info = 20
    warning = 30
    error = 40
    off = 100

class LogSink: ...

def make_python_log(level: LogLevel) -> LogSink: ...
def make_stderr_log(level: LogLevel, json: bool) -> LogSink: ...
def status_table() -> list[tuple[str, int, int, str]]: ...
def end_python() -> None: ...
def after_fork_in_child() -> None: ...

class Limits:
    max_body_bytes: int
    max_header_bytes: int
    max_json_depth: int
    max_pipelined_requests: int
    max_concurrent_streams: int
    max_connections: int
    max_parameters: int
    max_tensors: int
    max_rank: int
    max_shared_memory_regions: int
    inflight_bytes: int
    min_bytes_per_s: int
    inline_max_us: int
    offload_bytes: int
    handshake_timeout_s: float
    header_timeout_s: float
    body_progress_timeout_s: float
    idle_timeout_s: float
    write_progress_timeout_s: float
    linger_timeout_s: float
    drain_timeout_s: float
    def __init__(self) -> None: ...

class RuntimeOptions:
    library_path: str
    intra_op_threads: int

class TlsOptions:
    certificate: str
    key: str
    client_ca: str
    reload: bool
    def __init__(self) -> None: ...

class KeyOptions:
    name: str
    sha256: str
    read: bool
    infer: bool
    control: bool
    models: Sequence[str]
    def __init__(self) -> None: ...

class AuthOptions:
    keys: Sequence[KeyOptions]
    public_liveness: bool
    def __init__(self) -> None: ...

class ServerOptions:
    host: str
    port: int
    auth: AuthOptions | None
    unix_path: str
    tls: TlsOptions | None
    io_threads: int
    limits: Limits
    runtime: RuntimeOptions
    client_shared_memory: bool
    access_log: bool
    compress_binary: bool
    def __init__(self) -> None: ...

class BatchingMode(Enum):
    automatic = 0
    on = 1
    off = 2

class BatchingOptions:
    choice: BatchingMode
    max_rows: int
    max_delay_s: float

class QueueOptions:
    max_size: int
    timeout_s: float

class ModelOptions:
    name: str
    version: int
    backend: str
    path: str
    instances: int
    batching: BatchingOptions
    queue: QueueOptions
    warmup: bool
    replace: bool
    providers: list[tuple[str, list[tuple[str, str]]]]
    session_attributes: list[tuple[str, str]]
    session_config_entries: list[tuple[str, str]]
    backend_options: list[tuple[str, str]]
    def __init__(self) -> None: ...
    def set_bytes(self, content: bytes) -> None: ...

class TensorSpec:
    @property
    def name(self) -> str: ...
    @property
    def datatype(self) -> str: ...
    @property
    def shape(self) -> list[int]: ...
    @property
    def symbols(self) -> list[str]: ...
    @property
    def optional(self) -> bool: ...
    @property
    def unsupported(self) -> str: ...

class ModelSpec:
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def platform(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def inputs(self) -> list[TensorSpec]: ...
    @property
    def outputs(self) -> list[TensorSpec]: ...
    @property
    def max_batch_rows(self) -> int: ...
    @property
    def batching_reason(self) -> str: ...
    @property
    def instances(self) -> int: ...
    @property
    def max_batch_delay_s(self) -> float: ...
    @property
    def max_queue_size(self) -> int: ...
    @property
    def providers(self) -> list[str]: ...

class Server:
    def __init__(self, options: ServerOptions, log: LogSink) -> None: ...
    def register(self, options: ModelOptions) -> ModelSpec: ...
    def unregister(self, name: str, version: int | None) -> None: ...
    def inspect(self, options: ModelOptions) -> ModelSpec: ...
    def models(self) -> list[ModelSpec]: ...
    def start(self) -> None: ...
    def stop(self, drain_s: float) -> None: ...
    def force_stop(self) -> None: ...
    @property
    def running(self) -> bool: ...
    @property
    def ready(self) -> bool: ...
    @property
    def port(self) -> int: ...
    @property
    def url(self) -> str: ...
    def statistics_json(self) -> str: ...
    def metrics_text(self) -> str: ...

class AsyncCall:
    def result(self) -> dict[str, Any]: ...
    def cancel(self, server: Server) -> None: ...

def infer(
    server: Server,
    model: str,
    version: int | None,
    inputs: Mapping[str, Any],
    outputs: Sequence[str] | None,
    parameters: Mapping[str, bool | int | float | str] | None,
    id: str,
    timeout_s: float | None,
) -> dict[str, Any]: ...
def infer_async(
    server: Server,
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[dict[str, Any]],
    model: str,
    version: int | None,
    inputs: Mapping[str, Any],
    outputs: Sequence[str] | None,
    parameters: Mapping[str, bool | int | float | str] | None,
    id: str,
    timeout_s: float | None,
) -> AsyncCall: ...
