"""Reads the program's own source for the tests of its shape."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "archivebox"


def modules() -> list[Path]:
    """Every module of the program that people write; migrations are written by Django."""
    return sorted(path for path in PACKAGE.rglob("*.py") if "migrations" not in path.parts)


def shown(path: Path) -> str:
    """The path as people name it."""
    return str(path.relative_to(ROOT))


def parse(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text(), str(path))


def imports_in_functions(path: Path) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements that do not stand at the top; a module's ``__getattr__`` (PEP 562) exists to hold them."""
    functions = (node for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    seen = {inner for function in functions if function.name != "__getattr__" for inner in ast.walk(function)}
    for node in seen:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
