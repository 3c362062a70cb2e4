#!/usr/bin/env python3
"""Write the tables of docs/ that are made from the code, between their "made from" and "end" comments.

    make_docs.py            bring docs/*.md up to date; prints the files that changed
    make_docs.py --check    change nothing; exit 1 if a file is out of date

To add a table: a function in TABLES, and in the page `<!-- made: name -->` and `<!-- end -->` on lines of their own.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import asio_infer as ai
from asio_infer import _core, cli

ROOT = Path(__file__).resolve().parents[1]
MARKED = re.compile(r"(<!-- made: ([a-z-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def table(headings: str, rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table; headings are separated by "|"."""
    names = headings.split("|")
    cells = [names, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    lines.insert(1, "|" + "---|" * len(names))
    return "".join(line.replace("|  |", "| |") + "\n" for line in lines)


def described(documented: object, section: str) -> dict[str, str]:
    """The entries of a section ("Args", "Attributes") of a docstring: name to text."""
    text = inspect.getdoc(documented) or ""
    found = re.search(rf"^{section}:\n((?:[ ]+.*\n?|\n)+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{documented!r} has no section {section}")
    entries = re.split(r"^    (?=\w+:)", found[1], flags=re.MULTILINE)[1:]
    return {name: " ".join(words.split()) for name, words in (entry.split(":", 1) for entry in entries)}


def shown(value: object) -> str:
    """A default as one writes it."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 10_000:
        return f"`{value!r}`"
    return f"`{value:_}`"


# ---- Python ---------------------------------------------------------------------------------------------------------


def fields_table(kind: type) -> str:
    """A dataclass of options."""
    texts = described(kind, "Attributes")
    rows = []
    for field in dataclasses.fields(kind):
        default = "" if field.default is dataclasses.MISSING else shown(field.default)
        rows.append((f"`{field.name}`", default, texts[field.name]))
    return table("name|default|meaning", rows)


def arguments_table(function: Callable[..., object], documented: object) -> str:
    """The parameters of a function; what has no default is marked."""
    texts = described(documented, "Args")
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    rows = []
    for parameter in parameters:
        default = "" if parameter.default is parameter.empty else shown(parameter.default)
        rows.append((f"`{parameter.name}`", default, texts[parameter.name]))
    return table("name|default|meaning", rows)


def command_table() -> str:
    """The options of `asio-infer serve`; the help gives defaults in brackets."""
    parser = cli._make_parser()
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    rows = []
    for action in commands.choices["serve"]._actions:
        name = ", ".join(action.option_strings) or str(action.metavar)
        if action.option_strings and action.nargs != 0:
            name += " " + str(action.metavar or (action.choices and ",".join(action.choices)) or action.dest.upper())
        rows.append((f"`{name}`", str(action.help)))
    return table("argument|meaning", rows)


# ---- C++ ------------------------------------------------------------------------------------------------------------


def source(path: str) -> str:
    return (ROOT / "cpp" / path).read_text(encoding="utf-8")


def session_options_list() -> str:
    """The attributes of onnxruntime.SessionOptions that are understood."""
    rows = source("src/backend/onnx/session_options.cpp").split("attributes{{", 1)[1].split("}};", 1)[0]
    names = re.findall(r'^    \{"(\w+)",', rows, re.MULTILINE)
    return "\n".join(f"- `{name}`" for name in names) + "\n"


def routes_table() -> str:
    """The endpoints, in the order of their table."""
    methods = {"read": "GET, HEAD", "submit": "POST"}
    rows = re.findall(
        r'make_route\("([^"]+)", route_methods::(\w+), scope::(\w+),\s+&handlers::(\w+)\)',
        source("src/request/route_table.hpp"),
    )
    return table(
        "path|methods|scope|answer",
        ((f"`{path}`", methods[kind], scope, ANSWERS[handler]) for path, kind, scope, handler in rows),
    )


def rpc_table() -> str:
    """The gRPC methods, in the order of their table."""
    rows = re.findall(
        r'rpc\{"/([^"]+)/(\w+)", rpc_kind::(\w+), \w+, scope::(\w+),', source("src/request/rpc_table.hpp")
    )
    return table("service|method|kind|scope", ((f"`{row[0]}`", f"`{row[1]}`", row[2], row[3]) for row in rows))


ANSWERS = {
    "shared_memory_status": "regions of shared memory",
    "register_shared_memory": "registers a region",
    "unregister_shared_memory": "forgets a region, or all",
    "infer": "an inference",
    "live": "whether the process answers",
    "ready": "whether requests are taken; 503 while not",
    "model_ready": "the same of a model",
    "all_statistics": "counts and times of every model",
    "model_statistics": "counts and times of a model, of all its versions if none is named",
    "model_metadata": "inputs, outputs, versions",
    "model_config": "Triton's form of the configuration, batching included",
    "server_metadata": "name, version, extensions",
    "metrics": "Prometheus text, see [metrics.md](metrics.md)",
    "welcome": "a few lines of text for people",
}


def status_rows() -> str:
    """The status table, with what each code means from the comments of errc."""
    meanings = dict(re.findall(r"^    (\w+),\s+///< (.+)$", source("include/asio_infer/error.hpp"), re.MULTILINE))
    header = source("src/core/status_table.hpp")
    retried = set(re.findall(r"\{errc::(\w+),.*, true\},", header))
    names = GRPC_NAMES
    rows = []
    for code, http, grpc, kind in _core.status_table():
        status = f"{http} + Retry-After" if code in retried else str(http)
        rows.append((f"`{code}`", status, f"{grpc} {names[grpc]}", f"`{kind}`", meanings[code]))
    return table("code|HTTP|gRPC|Python|meaning", rows)


GRPC_NAMES = {
    1: "CANCELLED",
    3: "INVALID_ARGUMENT",
    4: "DEADLINE_EXCEEDED",
    5: "NOT_FOUND",
    6: "ALREADY_EXISTS",
    7: "PERMISSION_DENIED",
    8: "RESOURCE_EXHAUSTED",
    12: "UNIMPLEMENTED",
    13: "INTERNAL",
    14: "UNAVAILABLE",
    16: "UNAUTHENTICATED",
}


def datatypes_table() -> str:
    """The element types."""
    rows = re.findall(r'\{dtype::\w+, "(\w+)", (\d)\}', source("include/asio_infer/dtype.hpp"))
    return table(
        "datatype|bytes per element", ((f"`{name}`", size if size != "0" else "4 + its length") for name, size in rows)
    )


def extensions_list() -> str:
    """What GET /v2 announces."""
    text = source("src/response/model_facts.hpp").split("protocol_extensions{", 1)[1].split("}", 1)[0]
    return ", ".join(f"`{name}`" for name in re.findall(r'"(\w+)"', text)) + "\n"


TABLES: dict[str, Callable[[], str]] = {
    "server": lambda: arguments_table(ai.Server.__init__, ai.Server),
    "register": lambda: arguments_table(ai.Server.register, ai.Server.register),
    "batching": lambda: fields_table(ai.Batching),
    "queue": lambda: fields_table(ai.Queue),
    "log": lambda: fields_table(ai.Log),
    "tls": lambda: fields_table(ai.Tls),
    "auth": lambda: fields_table(ai.Auth),
    "key": lambda: arguments_table(ai.Key, ai.Key),
    "limits": lambda: fields_table(ai.Limits),
    "identity": lambda: fields_table(ai.Identity),
    "session-options": session_options_list,
    "command": command_table,
    "routes": routes_table,
    "rpcs": rpc_table,
    "status": status_rows,
    "datatypes": datatypes_table,
    "extensions": extensions_list,
}


def updated(text: str) -> str:
    """A page with its tables as the code has them now."""
    return MARKED.sub(lambda found: found[1] + TABLES[found[2]]() + found[4], text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file is out of date")
    check = parser.parse_args().check
    changed = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = updated(before)
        if after != before:
            changed.append(page)
            if not check:
                page.write_text(after, encoding="utf-8")
    for page in changed:
        print(f"{page.relative_to(ROOT)} {'is out of date: run tools/make_docs.py' if check else 'changed'}")
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
