"""Configuration files: TOML whose keys are the names of the Python arguments.

```toml
[server]                    # Server(...)
port = 8000
[server.limits]             # Limits(...)
max_body_bytes = 1_000_000
[server.log]                # Log(...)
format = "json"

[[model]]                   # Server.register(...), once for each model
name = "resnet"             # the file's stem, if left out
path = "resnet50.onnx"      # relative to the configuration's folder
batching = { max_size = 8 } # Batching(...); or "auto", or false for never
[model.queue]               # Queue(...)
timeout_s = 0.2
```
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from asio_infer._model_options import make_model_options
from asio_infer.auth import Auth
from asio_infer.errors import InvalidRequest
from asio_infer.options import AUTO, Batching, Identity, Limits, Log, Queue, Tls

Place = tuple[str | int, ...]

_SERVER_KEYS: Final = frozenset(
    {
        "allow_client_shared_memory",
        "auth",
        "host",
        "port",
        "io_threads",
        "intra_op_threads",
        "compress_binary",
        "limits",
        "log",
        "tls",
        "unix",
    }
)
_MODEL_KEYS: Final = frozenset(
    {
        "name",
        "path",
        "identity",
        "version",
        "providers",
        "provider_options",
        "session_options",
        "instances",
        "batching",
        "queue",
        "warmup",
    }
)


class ConfigError(InvalidRequest):
    """A configuration file that cannot be used; the text begins with the file and, where there is one, the line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """One `[[model]]`.

    Attributes:
        name: The model's name.
        source: What `Server.register` takes: an absolute path or an `Identity`.
        options: Further arguments of `Server.register`.
    """

    name: str
    source: Path | Identity
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """A whole file.

    Attributes:
        server: Arguments of `Server`.
        models: The models in the order of the file.
    """

    server: dict[str, Any] = field(default_factory=dict)
    models: tuple[ModelConfig, ...] = ()


def load_config(path: str | os.PathLike[str]) -> Config:
    """Read a configuration file.

    Raises:
        ConfigError: It cannot be read, is no TOML, or has an unknown key or a wrong value.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(f"{file}: {reason}") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {error}") from None
    return _Reader(file, text).read(data)


class _Reader:
    """One file on its way to a `Config`."""

    def __init__(self, file: Path, text: str) -> None:
        self._file = file
        self._folder = file.resolve().parent
        self._lines = dict(_key_lines(text))

    def read(self, data: Mapping[str, Any]) -> Config:
        self._check_keys(data, {"server", "model"}, ())
        models = data.get("model", [])
        if not isinstance(models, list) or not all(isinstance(model, dict) for model in models):
            raise self._error(("model",), "models are tables: [[model]]")
        server = self._table(data.get("server", {}), ("server",))
        return Config(
            server=self._server(server), models=tuple(self._model(model, i) for i, model in enumerate(models))
        )

    def _server(self, table: Mapping[str, Any]) -> dict[str, Any]:
        self._check_keys(table, _SERVER_KEYS, ("server",))
        arguments = dict(table)
        if "limits" in table:
            arguments["limits"] = self._make(Limits, table["limits"], ("server", "limits"))
        if "tls" in table:
            arguments["tls"] = self._make(Tls, self._tls_paths(table["tls"]), ("server", "tls"))
        if "auth" in table:
            arguments["auth"] = self._auth(table["auth"], ("server", "auth"))
        if "unix" in table:
            arguments["unix"] = str(self._folder / self._text(table["unix"], ("server", "unix")))
        if isinstance(table.get("log"), dict):
            arguments["log"] = self._make(Log, table["log"], ("server", "log"))
        return arguments

    def _auth(self, value: object, place: Place) -> Auth:
        """Keys are not written here, where more people look: `file` names a file of them."""
        table = self._table(value, place)
        self._check_keys(table, {"file", "public_liveness"}, place)
        given = dict(table)
        if "file" in given:
            given["file"] = self._folder / self._text(given["file"], (*place, "file"))
        try:
            return Auth(**given)
        except (TypeError, InvalidRequest) as error:
            raise self._error(self._named(place, table, str(error)), str(error)) from None

    def _tls_paths(self, value: object) -> object:
        """As it is, with paths relative to this file made whole."""
        if not isinstance(value, dict):
            return value
        files = ("certificate", "key", "client_ca")
        return {key: self._folder / v if key in files and isinstance(v, str) else v for key, v in value.items()}

    def _model(self, table: Mapping[str, Any], index: int) -> ModelConfig:
        place: Place = ("model", index)
        self._check_keys(table, _MODEL_KEYS, place)
        if ("path" in table) == ("identity" in table):
            raise self._error(place, "a model needs either path or identity")
        source: Path | Identity
        if "path" in table:
            source = self._folder / self._text(table["path"], (*place, "path"))
        else:
            source = self._make(Identity, table["identity"], (*place, "identity"))
        name = self._text(table["name"], (*place, "name")) if "name" in table else _default_name(source)
        options = {key: value for key, value in table.items() if key not in ("name", "path", "identity")}
        if "batching" in options:
            options["batching"] = self._batching(options["batching"], (*place, "batching"))
        if "queue" in options:
            options["queue"] = self._make(Queue, options["queue"], (*place, "queue"))
        if "providers" in options:
            options["providers"] = self._providers(options["providers"], (*place, "providers"))
        try:
            make_model_options(name, source, **options)
        except (TypeError, InvalidRequest) as error:
            raise self._error(self._named(place, table, str(error)), str(error)) from None
        return ModelConfig(name=name, source=source, options=options)

    def _batching(self, value: object, place: Place) -> Any:
        if value == "auto" or value is True:
            return AUTO
        if value is False:
            return None
        return self._make(Batching, value, place)

    def _providers(self, value: object, place: Place) -> list[Any]:
        if not isinstance(value, list):
            raise self._error(place, f"providers must be a list of names, not {value!r}")
        return [tuple(entry) if isinstance(entry, list) else entry for entry in value]

    def _make(self, kind: type[Any], value: object, place: Place) -> Any:
        table = self._table(value, place)
        self._check_keys(table, {f.name for f in fields(kind)}, place)
        try:
            return kind(**table)
        except (TypeError, InvalidRequest) as error:
            raise self._error(self._named(place, table, str(error)), str(error)) from None

    @staticmethod
    def _named(place: Place, table: Mapping[str, Any], message: str) -> Place:
        """The key that a message of this package begins with, as in "Queue.max_size must be ..."."""
        subject = message.split(" ", 1)[0].rsplit(".", 1)[-1]
        return (*place, subject) if subject in table else place

    def _table(self, value: object, place: Place) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._error(place, f"{_dotted(place)} must be a table, not {value!r}")
        return value

    def _text(self, value: object, place: Place) -> str:
        if not isinstance(value, str) or not value:
            raise self._error(place, f"{place[-1]} must be a text that is not empty, not {value!r}")
        return value

    def _check_keys(self, table: Mapping[str, Any], known: frozenset[str] | set[str], place: Place) -> None:
        for key in table:
            if key not in known:
                where = f" in {_dotted(place)}" if place else ""
                raise self._error((*place, key), f"unknown key '{key}'{where}. There are: {', '.join(sorted(known))}")

    def _error(self, place: Place, text: str) -> ConfigError:
        """The place's line, or that of the nearest table around it."""
        while place and place not in self._lines:
            place = place[:-1]
        where = f"{self._file}:{self._lines[place]}" if place else str(self._file)
        return ConfigError(f"{where}: {text}")


def _default_name(source: Path | Identity) -> str:
    return source.stem if isinstance(source, Path) else "identity"


def _dotted(place: Place) -> str:
    return "[" + ".".join(str(part) for part in place if not isinstance(part, int)) + "]"


_KEY: Final = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED: Final = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER: Final = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?")
_ENTRY: Final = re.compile(rf"\s*({_DOTTED})\s*=")
_INLINE: Final = re.compile(rf"(?:[{{,])\s*({_DOTTED})\s*=")


def _key_lines(text: str) -> Iterator[tuple[Place, int]]:
    """Where each table and key of a TOML text stands; models are counted. Made for messages: the first wins."""
    seen: set[Place] = set()
    table: Place = ()
    models = -1
    in_text = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if in_text:
            in_text = "" if in_text in line else in_text
            continue
        found: list[Place] = []
        if header := _HEADER.match(line):
            names = _split(header.group(2))
            models += names == ["model"] and header.group(1) == "[["
            table = _numbered(names, models)
            found.append(table)
        elif entry := _ENTRY.match(line):
            place = (*table, *_split(entry.group(1)))
            found.append(place)
            found.extend((*place, *_split(inner)) for inner in _INLINE.findall(line[entry.end() :]))
            in_text = next((q for q in ('"""', "'''") if line.count(q) % 2), "")
        for place in found:
            for end in range(1, len(place) + 1):
                if place[:end] not in seen:
                    seen.add(place[:end])
                    yield place[:end], number


def _split(dotted: str) -> list[str]:
    return [key.strip("\"'") for key in re.findall(_KEY, dotted)]


def _numbered(names: list[str], models: int) -> Place:
    if names[:1] == ["model"] and models >= 0:
        return ("model", models, *names[1:])
    return tuple(names)
