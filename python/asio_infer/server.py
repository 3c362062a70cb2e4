"""The server: models, requests in process, and the network."""

from __future__ import annotations

import contextlib
import os
import signal
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from asio_infer import _core, _signals
from asio_infer._model_options import make_model_options
from asio_infer.auth import SCOPES, Auth, Key
from asio_infer.errors import Unavailable
from asio_infer.model import Model, ModelInfo
from asio_infer.options import AUTO, Auto, Batching, Identity, Limits, Log, Queue, Tls, check_int, check_seconds

if TYPE_CHECKING:
    import asyncio

    import numpy as np
    from numpy.typing import ArrayLike

    Outputs = dict[str, np.ndarray[Any, Any]]

_EXIT_DRAIN_S: Final = 1.0
"""How long a server that nobody stopped may still finish requests when its program or its last owner ends."""

_LARGEST_VERSION: Final = 2**63 - 1


class Server:
    """Serves models over the network and in process.

    One port speaks all protocols. Models may be registered and unregistered at any time, before and after `start`.
    All methods may be called from any thread; those that wait release the GIL. A server belongs to the process that
    made it: in the child of a fork each use raises `Unavailable`.

    Args:
        host: The address or name to listen on; "" or "::" for all. Others than the loopback's log a warning
            unless `auth` and `tls` are given.
        port: The TCP port; 0 takes a free one, see `port`.
        io_threads: Network threads; None for half of the cores that the process may use, at least 1.
        limits: Bounds on sizes, counts and times.
        tls: The port speaks TLS; connections without it are refused.
        unix: Path of a Unix-domain socket to listen on beside the port. Only this user may connect, so it has no TLS.
        auth: Every request needs one of these keys; None asks nobody. Calls in process need none.
        log: What is logged, or a format as in `Log`; None for level "info" as text on stderr.
        intra_op_threads: Threads of the one pool in which ONNX Runtime computes for all models; None for the cores
            that the process may use. The first ONNX model of the process decides.
        allow_client_shared_memory: Clients may register shared memory of this machine (the protocol's extension
            "system_shared_memory"), which this server then reads and writes with its user's rights.
        compress_binary: Compress answers with binary tensors too, for clients that accept it.

    Raises:
        TypeError: An argument has the wrong type.
        InvalidRequest: An argument has a value that is out of range.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 8000,
        *,
        io_threads: int | None = None,
        limits: Limits | None = None,
        tls: Tls | None = None,
        unix: str | os.PathLike[str] | None = None,
        auth: Auth | None = None,
        log: Log | str | None = None,
        intra_op_threads: int | None = None,
        allow_client_shared_memory: bool = False,
        compress_binary: bool = False,
    ) -> None:
        log = _as_log(log)
        options = _core.ServerOptions()
        options.host = _as_text("host", host)
        options.port = check_int("port", port, 0, 65_535)
        options.io_threads = 0 if io_threads is None else check_int("io_threads", io_threads, 1, 1024)
        options.limits = _core_limits(limits)
        options.tls = _core_tls(tls)
        options.auth = _core_auth(auth)
        options.unix_path = "" if unix is None else _as_text("unix", os.fspath(unix))
        options.access_log = log.access
        options.client_shared_memory = bool(allow_client_shared_memory)
        options.compress_binary = bool(compress_binary)
        options.runtime.library_path = _library_path()
        if intra_op_threads is not None:
            options.runtime.intra_op_threads = check_int("intra_op_threads", intra_op_threads, 1, 1024)
        self._drain_s = (limits or Limits()).drain_timeout_s
        self._core = _core.Server(options, _log_sink(log))
        self._waiting: list[_signals.Events] = []
        _servers.add(self)
        self._finalizer = weakref.finalize(self, _close, self._core)
        self._finalizer.atexit = False

    def __repr__(self) -> str:
        try:
            return f"<asio_infer.Server {self.url} {'running' if self._core.running else 'stopped'}>"
        except Unavailable:
            return "<asio_infer.Server of another process>"

    # ---- Models

    def register(
        self,
        name: str,
        model: str | os.PathLike[str] | bytes | Identity | Any,
        *,
        version: int = 1,
        providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        session_options: Mapping[str, Any] | None = None,
        instances: int = 1,
        batching: Batching | Auto | None = AUTO,
        queue: Queue | None = None,
        warmup: bool | Auto = AUTO,
        replace: bool = False,
    ) -> Model:
        """Load a model and serve it: loaded, tried and warm before any request can find it.

        Args:
            name: What requests call it: 1 to 256 bytes of UTF-8 without "/", a backslash or control characters, and
                not "." or "..".
            model: A path, the bytes of an ONNX file, an `onnx.ModelProto` or an `Identity`. Weights in files of their
                own need a path, and are found beside it.
            version: From 1. Requests that name none get the highest.
            providers: Execution providers, best first, as `onnxruntime.InferenceSession` takes them: names, or pairs
                of a name and its options.
            provider_options: Options of the providers, one mapping for each.
            session_options: `onnxruntime.SessionOptions` by the names of its attributes, and config entries by their
                keys, which contain a dot.
            instances: Copies that run at the same time, 1 to 1,024.
            batching: How requests are joined: AUTO if the model allows it, None for never.
            queue: How requests wait.
            warmup: Run each instance with made-up inputs before the model is served. AUTO does.
            replace: Swap a model of this name and version in one step instead of raising `AlreadyExists`: requests
                that are under way end on the old one.

        Raises:
            AlreadyExists: This name and version is registered.
            InvalidRequest: A bad name or option, or a path that is no file.
            ModelError: ONNX Runtime refuses the model; the text has its reason.
            ImportError: No ONNX Runtime is installed; `RuntimeVersionError` if it cannot be used.
            TypeError: An argument has the wrong type.
        """
        options = make_model_options(
            name,
            model,
            version=version,
            providers=providers,
            provider_options=provider_options,
            session_options=session_options,
            instances=instances,
            batching=batching,
            queue=queue,
            warmup=warmup,
            replace=replace,
        )
        return self._register(options)

    def unregister(self, name: str, version: int | None = None) -> None:
        """Serve a model no longer: one version or, without one, all. Requests that are under way end normally.

        Raises:
            NotFound: There is no such model or version.
        """
        self._core.unregister(_as_text("name", name), _as_version(version))

    def models(self) -> list[Model]:
        """All models in service, by name and then version."""
        return [Model(self, ModelInfo.from_core(spec)) for spec in self._core.models()]

    def _register(self, options: _core.ModelOptions) -> Model:
        _require_runtime(options)
        return Model(self, ModelInfo.from_core(self._core.register(options)))

    def _inspect(self, options: _core.ModelOptions) -> ModelInfo:
        """Describe a model without serving it."""
        _require_runtime(options)
        return ModelInfo.from_core(self._core.inspect(options))

    # ---- Requests in process

    def infer(
        self,
        model: str,
        inputs: Mapping[str, ArrayLike],
        *,
        outputs: Sequence[str] | None = None,
        version: int | None = None,
        parameters: Mapping[str, bool | int | float | str] | None = None,
        id: str = "",
        timeout_s: float | None = None,
    ) -> Outputs:
        """Run a model on this process's scheduler, beside the requests from the network, and wait for the outputs.

        Arrays must have the dtype of the model's input; any strides and byte order will do. Lists and plain numbers
        take that dtype, if their values fit. BYTES inputs are arrays of str (sent as UTF-8) or bytes; BF16 inputs are
        `ml_dtypes.bfloat16`, or `uint16` for its bits. Inputs are copied before this returns.

        Args:
            model: The model's name.
            inputs: Values by the names of the model's inputs.
            outputs: The outputs wanted; None for all.
            version: None for the highest.
            parameters: Request parameters, as in the protocol.
            id: An id for logs.
            timeout_s: Seconds until `DeadlineExceeded`, whether the call waits or runs; a run that nobody else waits
                for is stopped then.

        Returns:
            Writable arrays by the names of the outputs. They own their memory and outlive the server. BYTES outputs
            have dtype object with `bytes` elements; BF16 is `ml_dtypes.bfloat16`, or `uint16` for its bits where
            ml_dtypes is not installed.

        Raises:
            NotFound: No such model or version.
            InvalidRequest: The inputs contradict what the model takes.
            TypeError: A dtype that the protocol does not have, or not the one that the model takes.
            Unavailable: Before start, after stop, and while draining.
            QueueFull: The model's queue is at its limit.
            DeadlineExceeded: The time ran out first.
            ModelError: The run failed.
        """
        return _core.infer(
            self._core, _as_text("model", model), _as_version(version), inputs, outputs, parameters, id, timeout_s
        )

    def infer_async(
        self,
        model: str,
        inputs: Mapping[str, ArrayLike],
        *,
        outputs: Sequence[str] | None = None,
        version: int | None = None,
        parameters: Mapping[str, bool | int | float | str] | None = None,
        id: str = "",
        timeout_s: float | None = None,
    ) -> asyncio.Future[Outputs]:
        """As `infer`, awaitable: `outputs = await server.infer_async(...)` in a running event loop.

        The call is under way when this returns: later changes of the arrays have no effect on it. Cancelling the
        future, or the task that awaits it, takes a call that still waits out of the model's queue.

        Raises:
            RuntimeError: No event loop runs in this thread.
            NotFound: No such model or version.
            TypeError: A dtype that does not fit.
        """
        import asyncio

        from asio_infer._async import InferFuture

        loop = asyncio.get_running_loop()
        future = InferFuture(loop=loop)
        name, number = _as_text("model", model), _as_version(version)
        call = _core.infer_async(self._core, loop, future, name, number, inputs, outputs, parameters, id, timeout_s)
        future.attach(call, self._core)
        return future

    # ---- Start, stop, wait

    def start(self) -> None:
        """Listen, and serve the registered models. On return the server accepts requests.

        Raises:
            Unavailable: The port is in use.
            InvalidRequest: The host is no address of this machine, or the server runs already.
        """
        self._core.start()

    def stop(self, drain_s: float | None = None) -> None:
        """Stop serving: refuse new requests, finish what was received, close, and wait until all threads are idle.

        Does nothing if the server does not run. A stop that runs in another thread is waited for. In the main thread
        Ctrl-C, or any exception of a signal handler, cuts it short.

        Args:
            drain_s: Seconds that requests may take to finish; None for, and at most, `Limits.drain_timeout_s`.
        """
        limit = self._drain_s if drain_s is None else check_seconds("drain_s", drain_s)
        if _signals.in_main_thread():
            self._stop_interruptibly(limit, _signals.Events())
        else:
            self._core.stop(limit)
        self._wake_waiting()

    def wait(self) -> None:
        """Block until a signal or another thread's `stop`, then return with the server stopped.

        In the main thread, and only where Python's own handlers stand, SIGTERM and SIGINT (Ctrl-C) stop the server
        with its drain; a second one cuts the drain short. In other threads this waits for `stop` alone.

        Raises:
            KeyboardInterrupt: After the drain, if SIGINT was the first signal.
            Unavailable: The server does not run.
        """
        if not self._core.running:
            raise Unavailable("the server does not run: call start() before wait()")
        with _signals.SignalEvents() as events:
            first = self._wait(events)
        if first == signal.SIGINT:
            raise KeyboardInterrupt

    def _wait(self, events: _signals.Events) -> int | None:
        """Wait for a signal, drain and return its number; or None once another thread has stopped the server."""
        self._waiting.append(events)
        try:
            while self._core.running:
                if (number := events.get()) is not None:
                    self._stop_interruptibly(self._drain_s, events)
                    self._wake_waiting()
                    return number
            return None
        finally:
            self._waiting.remove(events)

    def _stop_interruptibly(self, drain_s: float, events: _signals.Events) -> None:
        _signals.run_interruptibly(lambda: self._core.stop(drain_s), self._core.force_stop, events)

    def _wake_waiting(self) -> None:
        for events in self._waiting.copy():
            events.put(None)

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Server:
        import asyncio

        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.stop)

    # ---- State

    @property
    def port(self) -> int:
        """The port: the real one once the server has started, otherwise as given."""
        return self._core.port

    @property
    def url(self) -> str:
        """The address for clients, "http://127.0.0.1:8000"."""
        return self._core.url

    def ready(self) -> bool:
        """Whether the server takes requests: started, and not draining."""
        return self._core.ready

    def stats(self) -> dict[str, Any]:
        """Statistics of all models: what `GET /v2/models/stats` answers. Times in nanoseconds."""
        import json

        statistics: dict[str, Any] = json.loads(self._core.statistics_json())
        return statistics

    def metrics(self) -> str:
        """All metrics in Prometheus's text format: what `GET /metrics` answers."""
        return self._core.metrics_text()


_servers: Final[weakref.WeakSet[Server]] = weakref.WeakSet()
"""The servers of this process, for its end."""


def _close(core: _core.Server) -> None:
    """The end of a server whose last owner is gone."""
    with contextlib.suppress(Unavailable):  # which says that it is the parent's
        core.stop(_EXIT_DRAIN_S)


def _close_all() -> None:
    """The end of the program: stop what runs, then let nothing touch Python any more."""
    for server in list(_servers):
        _close(server._core)
    _core.end_python()


def _after_fork_in_child() -> None:
    _servers.clear()
    _core.after_fork_in_child()


def _as_text(name: str, value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {value!r}")
    return value


def _as_version(version: int | None) -> int | None:
    return None if version is None else check_int("version", version, 1, _LARGEST_VERSION)


def _as_log(log: Log | str | None) -> Log:
    if log is None:
        return Log()
    if isinstance(log, str):
        return Log(format=log)  # type: ignore[arg-type]  # checked by Log
    if not isinstance(log, Log):
        raise TypeError(f"log must be a Log or one of its formats, not {log!r}")
    return log


def _log_sink(log: Log) -> _core.LogSink:
    level = _core.LogLevel.__members__[log.level]
    if log.format == "logging":
        return _core.make_python_log(level)
    return _core.make_stderr_log(level, log.format == "json")


def _core_auth(auth: Auth | None) -> _core.AuthOptions | None:
    if auth is None:
        return None
    if not isinstance(auth, Auth):
        raise TypeError(f"auth must be an Auth, not {auth!r}")
    core = _core.AuthOptions()
    core.keys = [_core_key(key) for key in auth.keys]
    core.public_liveness = auth.public_liveness
    return core


def _core_key(key: Key) -> _core.KeyOptions:
    core = _core.KeyOptions()
    core.name = key.name
    core.sha256 = key.sha256
    core.read, core.infer, core.control = (scope in key.scopes for scope in SCOPES)
    core.models = list(key.models or ())
    return core


def _core_tls(tls: Tls | None) -> _core.TlsOptions | None:
    if tls is None:
        return None
    if not isinstance(tls, Tls):
        raise TypeError(f"tls must be a Tls, not {tls!r}")
    core = _core.TlsOptions()
    core.certificate = os.path.abspath(tls.certificate)
    core.key = os.path.abspath(tls.key)
    core.client_ca = "" if tls.client_ca is None else os.path.abspath(tls.client_ca)
    core.reload = tls.reload
    return core


def _core_limits(limits: Limits | None) -> _core.Limits:
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"limits must be a Limits, not {limits!r}")
    core = _core.Limits()
    for field in fields(Limits):
        value = getattr(limits or Limits(), field.name)
        setattr(core, field.name, 0 if value is None else value)
    return core


def _library_path() -> str:
    """The runtime's library for models that may come; "" if there is none, which is an error only for them."""
    from asio_infer.runtime import find_runtime

    try:
        return str(find_runtime().library)
    except ImportError:
        return ""


def _require_runtime(options: _core.ModelOptions) -> None:
    if options.backend == "onnx":
        from asio_infer.runtime import find_runtime

        find_runtime()
