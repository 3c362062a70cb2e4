"""Serves models in a process of its own until its standard input ends; `conftest.Served` starts it.

    serve.py '{"server": {...}, "limits": {...}, "models": [{"name": ..., "model": ..., "batching": {...}}, ...]}'

Prints the port once it accepts requests.
"""

import json
import sys
from typing import Any

import asio_infer as ai


def register(server: ai.Server, entry: dict[str, Any]) -> None:
    if "identity" in entry:
        entry["model"] = ai.Identity(**entry.pop("identity"))
    if entry.get("batching") is not None:
        entry["batching"] = ai.Batching(**entry["batching"])
    if "queue" in entry:
        entry["queue"] = ai.Queue(**entry["queue"])
    server.register(**entry)


def main() -> None:
    spec = json.loads(sys.argv[1])
    options = spec.get("server", {})
    if "tls" in options:
        options["tls"] = ai.Tls(**options["tls"])
    if "auth" in options:
        keys = [ai.Key(**key) for key in options["auth"].pop("keys")]
        options["auth"] = ai.Auth(keys=keys, **options["auth"])
    log = ai.Log(level=spec.get("log", "error"), access=spec.get("access", False))
    server = ai.Server(port=0, log=log, limits=ai.Limits(**spec.get("limits", {})), **options)
    for entry in spec["models"]:
        register(server, entry)
    with server:
        print(server.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
