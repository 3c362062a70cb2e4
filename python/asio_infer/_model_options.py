"""What `Server.register` is given, as the options that the compiled part takes."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from asio_infer import _core
from asio_infer.errors import InvalidRequest
from asio_infer.options import Auto, Batching, Identity, Queue, check_int

_LARGEST_VERSION: Final = 2**63 - 1
_LONGEST_NAME: Final = 256


def check_name(name: object) -> str:
    """Return `name` if a model may be called so.

    Raises:
        TypeError: It is no str.
        InvalidRequest: It breaks the rule, which the text gives.
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, not {name!r}")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise InvalidRequest(f"name {name!r} cannot be written as UTF-8") from None
    if not 1 <= size <= _LONGEST_NAME:
        raise InvalidRequest(f"name must be 1 to {_LONGEST_NAME} bytes long, not {size}: {name[:80]!r}")
    if name in (".", "..") or any(c in "/\\" or ord(c) < 32 or 127 <= ord(c) < 160 for c in name):
        raise InvalidRequest(f"name {name!r} must not be '.' or '..', nor contain '/', '\\' or control characters")
    return name


def make_model_options(
    name: str,
    model: Any,
    *,
    version: int = 1,
    providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None = None,
    provider_options: Sequence[Mapping[str, Any]] | None = None,
    session_options: Mapping[str, Any] | None = None,
    instances: int = 1,
    batching: Batching | Auto | None = Auto.AUTO,
    queue: Queue | None = None,
    warmup: bool | Auto = Auto.AUTO,
    replace: bool = False,
) -> _core.ModelOptions:
    """Check and translate the arguments of `Server.register`, which documents them.

    Raises:
        TypeError: An argument has the wrong type.
        InvalidRequest: An argument has a wrong value.
    """
    options = _core.ModelOptions()
    options.name = check_name(name)
    options.version = check_int("version", version, 1, _LARGEST_VERSION)
    options.instances = check_int("instances", instances, 1, 1024)
    options.replace = _as_bool("replace", replace)
    options.warmup = True if isinstance(warmup, Auto) else _as_bool("warmup", warmup)
    _set_source(options, model)
    _set_batching(options, batching)
    _set_queue(options, queue)
    options.providers = _provider_list(providers, provider_options)
    _set_session_options(options, session_options)
    return options


def _as_bool(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {value!r}")
    return value


def _is_utf8(text: str) -> bool:
    """Whether it has no parts of bytes that could not be decoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _set_source(options: _core.ModelOptions, model: Any) -> None:
    if isinstance(model, Identity):
        _set_identity(options, model)
    elif isinstance(model, str | os.PathLike):
        path = os.fsdecode(model)
        if not path:
            raise InvalidRequest("the path of the model is empty")
        if "\0" in path:
            raise InvalidRequest(f"the path of the model contains a NUL character: {path!r}")
        if not _is_utf8(path):
            raise InvalidRequest(f"the path of the model is not UTF-8: {path!r}; rename the file or its folder")
        options.path = path
    elif isinstance(model, bytes | bytearray | memoryview):
        if len(model) == 0:
            raise InvalidRequest(f"the bytes of model {options.name!r} are empty")
        options.set_bytes(bytes(model))
    elif callable(getattr(model, "SerializeToString", None)):
        options.set_bytes(model.SerializeToString())
    else:
        raise TypeError(
            f"model must be a path, bytes, an onnx.ModelProto or an asio_infer.Identity, not {type(model).__name__}"
        )


def _set_identity(options: _core.ModelOptions, model: Identity) -> None:
    options.backend = "identity"
    options.backend_options = [
        ("datatype", model.datatype),
        ("shape", ",".join(map(str, model.shape))),
        ("inputs", str(model.inputs)),
        ("delay_s", repr(float(model.delay_s))),
        ("fail", model.fail),
    ]


def _set_batching(options: _core.ModelOptions, batching: Batching | Auto | None) -> None:
    if isinstance(batching, Batching):
        options.batching.max_rows = batching.max_size
        options.batching.max_delay_s = batching.max_delay_s
        options.batching.choice = _core.BatchingMode.on if batching.max_size > 1 else _core.BatchingMode.off
    elif batching is None:
        options.batching.choice = _core.BatchingMode.off
    elif not isinstance(batching, Auto):
        raise TypeError(f"batching must be a Batching, AUTO or None, not {batching!r}")


def _set_queue(options: _core.ModelOptions, queue: Queue | None) -> None:
    if queue is None:
        return
    if not isinstance(queue, Queue):
        raise TypeError(f"queue must be a Queue or None, not {queue!r}")
    options.queue.max_size = queue.max_size
    options.queue.timeout_s = queue.timeout_s or 0.0


def _provider_list(
    providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None,
    provider_options: Sequence[Mapping[str, Any]] | None,
) -> list[tuple[str, list[tuple[str, str]]]]:
    """The two arguments by the rules of `onnxruntime.InferenceSession`, as one list."""
    if isinstance(providers, str):
        raise TypeError(f"providers must be a sequence of names, not the str {providers!r}")
    pairs = [_provider(entry) for entry in providers or ()]
    if provider_options is None:
        return pairs
    if len(provider_options) != len(pairs):
        raise InvalidRequest(f"provider_options has {len(provider_options)} entries for {len(pairs)} providers")
    if any(options for _, options in pairs):
        raise InvalidRequest("provider options are given both in providers and in provider_options")
    return [(name, _texts(options)) for (name, _), options in zip(pairs, provider_options, strict=True)]


def _provider(entry: object) -> tuple[str, list[tuple[str, str]]]:
    if isinstance(entry, str):
        return entry, []
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], Mapping):
        return entry[0], _texts(entry[1])
    raise TypeError(f"a provider must be a name, or a pair of a name and its options, not {entry!r}")


def _set_session_options(options: _core.ModelOptions, session_options: Mapping[str, Any] | None) -> None:
    if session_options is None:
        return
    if not isinstance(session_options, Mapping):
        raise TypeError(f"session_options must be a mapping, not {type(session_options).__name__}")
    texts = _texts(session_options)
    options.session_attributes = [(name, text) for name, text in texts if "." not in name]
    options.session_config_entries = [(name, text) for name, text in texts if "." in name]


def _texts(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise TypeError(f"options must be a mapping with str keys, not {options!r}")
    return [(name, _text(value)) for name, value in options.items()]


def _text(value: object) -> str:
    """As the runtime writes option values. Its own enumerations have their value's name in `name`."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, enum.Enum) or (not isinstance(value, str) and isinstance(getattr(value, "name", None), str)):
        return str(getattr(value, "name"))  # noqa: B009
    return str(value)
