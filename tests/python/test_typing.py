"""The stubs say what the compiled part has."""

import ast
import inspect
from pathlib import Path
from typing import Any

import asio_infer
from asio_infer import _core

STUB = ast.parse(Path(asio_infer.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))


def names_of(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def public(thing: Any) -> set[str]:
    return {name for name in vars(thing) if not name.startswith("_")}


def test_the_module() -> None:
    assert names_of(STUB.body) - {"__version__"} == public(_core)


def test_every_class() -> None:
    for node in STUB.body:
        if isinstance(node, ast.ClassDef):
            kind = getattr(_core, node.name)
            stubbed = {name for name in names_of(node.body) if not name.startswith("_")}
            assert stubbed == public(kind) - {"name", "value"} or stubbed == public(kind), node.name


def test_arguments_have_their_names() -> None:
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            signature = inspect.getdoc(getattr(_core, node.name)) or ""
            for argument in node.args.args:
                assert f"{argument.arg}:" in signature, (node.name, argument.arg)


def test_it_is_marked_as_typed() -> None:
    assert Path(asio_infer.__file__).with_name("py.typed").exists()
