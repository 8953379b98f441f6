"""What docs/seed-checklist.md says is shown by a test is shown by a test that is there."""

import ast
import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
ITEMS = (CHECKOUT / "docs" / "seed-checklist.md").read_text().split("\n- ")[1:]


def names_in(path: Path) -> set[str]:
    """``Class::test`` and ``test`` of a module."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{member.name}" for member in node.body if isinstance(member, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
    return names


def test_every_test_it_names_exists() -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)(?:::([\w:]+))?`", "".join(ITEMS)))
    assert len(named) > 80
    missing = [
        f"{path}::{name}"
        for path, name in sorted(named)
        if not (CHECKOUT / path).exists() or (name and name not in names_in(CHECKOUT / path))
    ]
    assert missing == []
