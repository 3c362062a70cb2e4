"""A model server for ONNX models, in one package: a C++ core on Boost.Asio, set up and run from Python.

    import asio_infer as ai

    server = ai.Server(port=8000)
    server.register("resnet", "resnet50.onnx")
    with server:
        server.wait()

Requests come over HTTP (the Open Inference Protocol v2) and from this process (`Server.infer`, `Server.infer_async`);
both go through the same scheduler, which joins them into batches. The command `asio-infer` does the same from a shell.
"""

import atexit
import os

from asio_infer import _core
from asio_infer.auth import Auth, Key
from asio_infer.errors import (
    AlreadyExists,
    AsioInferError,
    BadUpstream,
    Cancelled,
    DeadlineExceeded,
    InternalError,
    InvalidRequest,
    ModelError,
    NotFound,
    NotImplementedFeature,
    PermissionDenied,
    QueueFull,
    RuntimeVersionError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from asio_infer.model import Model, ModelInfo, Tensor
from asio_infer.options import AUTO, Batching, Identity, Limits, Log, Queue, Tls
from asio_infer.server import Server, _after_fork_in_child, _close_all

__version__: str = _core.__version__

__all__ = [
    "AUTO",
    "AlreadyExists",
    "AsioInferError",
    "Auth",
    "BadUpstream",
    "Batching",
    "Cancelled",
    "DeadlineExceeded",
    "Identity",
    "InternalError",
    "InvalidRequest",
    "Key",
    "Limits",
    "Log",
    "Model",
    "ModelError",
    "ModelInfo",
    "NotFound",
    "NotImplementedFeature",
    "PermissionDenied",
    "Queue",
    "QueueFull",
    "RuntimeVersionError",
    "Server",
    "Tensor",
    "Tls",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "__version__",
]

atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)

for _name in __all__:
    _object = globals()[_name]
    if isinstance(_object, type) and _object.__module__.startswith("asio_infer."):
        _object.__module__ = "asio_infer"
del _name, _object
