"""Keys: who may use a server, and for what."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import Any, Final

from asio_infer.errors import InvalidRequest

SCOPES: Final = ("read", "infer", "control")
_SHORTEST_TOKEN: Final = 16
_HASH: Final = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class Key:
    """A caller that a server knows by a token. Of the token only the SHA-256 is kept.

    Args:
        name: What the log calls it.
        token: The secret that the caller sends as `Authorization: Bearer TOKEN`; 16 characters at least, better from
            `asio-infer key`. Either this or `sha256`.
        sha256: The token's SHA-256 as 64 hexadecimal digits.
        scopes: What it may do: "read" (health, metadata, statistics, metrics), "infer", "control" (what changes the
            server).
        models: Patterns of the models that it may use, with "*" for any text and "?" for one byte; None for all.

    Raises:
        TypeError: An argument has the wrong type.
        InvalidRequest: A token that is too short, a hash that is none, an unknown scope.
    """

    name: str
    token: InitVar[str | None] = None
    sha256: str = ""
    scopes: Sequence[str] = ("read", "infer")
    models: Sequence[str] | None = None

    def __post_init__(self, token: str | None) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"Key.name must be a str, not {self.name!r}")
        if (token is None) == (self.sha256 == ""):
            raise InvalidRequest(f"Key {self.name!r} needs either a token or its sha256")
        if token is not None:
            object.__setattr__(self, "sha256", _hash(self.name, token))
        if not isinstance(self.sha256, str) or not _HASH.fullmatch(self.sha256):
            raise InvalidRequest(f"Key {self.name!r}: sha256 must be 64 hexadecimal digits")
        object.__setattr__(self, "scopes", _texts(f"Key {self.name!r}: scopes", self.scopes))
        for scope in self.scopes:
            if scope not in SCOPES:
                raise InvalidRequest(f"Key {self.name!r}: there is no scope {scope!r}; there are {', '.join(SCOPES)}")
        if not self.scopes:
            raise InvalidRequest(f"Key {self.name!r} has no scopes: it could do nothing")
        if self.models is not None:
            object.__setattr__(self, "models", _texts(f"Key {self.name!r}: models", self.models))
            if not self.models:
                raise InvalidRequest(f"Key {self.name!r}: models is empty; leave it out for all models")


@dataclass(frozen=True, slots=True)
class Auth:
    """Who may use a server: every request, whatever its protocol, needs one of these keys.

    Attributes:
        keys: The keys.
        file: A file with more of them, as `asio-infer key --file` writes it.
        public_liveness: Tell everybody, without a key, that the server lives (`/v2/health/live`, `ServerLive`).

    Raises:
        TypeError: An argument has the wrong type.
        InvalidRequest: There is no key, or the file is wrong; the text names the file and the line.
    """

    keys: Sequence[Key] = ()
    file: str | os.PathLike[str] | None = None
    public_liveness: bool = False

    def __post_init__(self) -> None:
        keys = tuple(self.keys)
        for key in keys:
            if not isinstance(key, Key):
                raise TypeError(f"Auth.keys must be Keys, not {key!r}")
        if not isinstance(self.public_liveness, bool):
            raise TypeError(f"Auth.public_liveness must be a bool, not {self.public_liveness!r}")
        if self.file is not None:
            keys += tuple(load_keys(self.file))
        if not keys:
            raise InvalidRequest("Auth has no keys: nobody could use the server")
        object.__setattr__(self, "keys", keys)


def _hash(name: str, token: object) -> str:
    if not isinstance(token, str):
        raise TypeError(f"Key {name!r}: token must be a str")
    if len(token) < _SHORTEST_TOKEN or token != token.strip():
        raise InvalidRequest(
            f"Key {name!r}: the token must have {_SHORTEST_TOKEN} characters at least, and no blanks around them"
        )
    return hashlib.sha256(token.encode()).hexdigest()


def _texts(what: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"{what} must be a list of texts, not {value!r}")
    texts = tuple(value)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{what} must be a list of texts, not {value!r}")
    return texts


def new_token() -> str:
    """A token of 256 random bits."""
    return "ai_" + secrets.token_urlsafe(32)


# ---- Files


def load_keys(path: str | os.PathLike[str]) -> list[Key]:
    """The keys of a file: TOML with one `[[key]]` for each. A file that others may read is warned of.

    Raises:
        InvalidRequest: It cannot be read, is no TOML, or has a wrong key; the text begins with the file and the line.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        data = tomllib.loads(text)
        open_to_others = os.name == "posix" and file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidRequest(f"{file}: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"{file}: {error}") from None
    if open_to_others:
        print(f"asio_infer: warning: other users may read {file}: chmod 600", file=sys.stderr)
    return _read_keys(file, text, data)


def _read_keys(file: Path, text: str, data: dict[str, Any]) -> list[Key]:
    entries = data.get("key", [])
    if set(data) - {"key"} or not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise InvalidRequest(f"{file}: a file of keys has [[key]] tables only")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*key\s*\]\]", line)]
    keys: list[Key] = []
    for index, entry in enumerate(entries):
        where = f"{file}:{lines[index]}" if len(lines) == len(entries) else f"{file}: key {index + 1}"
        if unknown := set(entry) - {"name", "sha256", "scopes", "models"}:
            raise InvalidRequest(f"{where}: unknown key {min(unknown)!r}. There are: name, sha256, scopes, models")
        try:
            keys.append(Key(**{"name": "", **entry}))
        except (InvalidRequest, TypeError) as error:
            raise InvalidRequest(f"{where}: {error}") from None
    return keys


def to_toml(key: Key) -> str:
    """A key as a file holds it."""
    lines = ["[[key]]", f"name = {_quoted(key.name)}", f'sha256 = "{key.sha256}"', f"scopes = {_list(key.scopes)}"]
    if key.models is not None:
        lines.append(f"models = {_list(key.models)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{escaped}"'


def _list(texts: Iterable[str]) -> str:
    return "[" + ", ".join(map(_quoted, texts)) + "]"


def append_key(path: str | os.PathLike[str], key: Key) -> None:
    """Add a key to a file, which only this user may read if it is made here.

    Raises:
        InvalidRequest: The file is there and wrong.
        OSError: It cannot be written.
    """
    file = Path(path)
    if file.exists():
        load_keys(file)
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(handle, "a", encoding="utf-8") as out:
        if out.tell() > 0:
            out.write("\n")
        out.write(to_toml(key))
