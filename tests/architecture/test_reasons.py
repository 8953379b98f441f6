"""Each reason that work may end with is produced somewhere, and not only asked about."""

import ast
from collections.abc import Iterator

from archivebox.contract.outcomes import DECLARABLE_REASONS
from archivebox.contract.reasons import Reason
from tests.architecture import source


def reasons_in(node: ast.AST) -> Iterator[str]:
    """Names of the members of ``Reason`` below a node, but for those that are compared or listed to compare with."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Reason":
        yield node.attr
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Compare | ast.Set):
            yield from reasons_in(child)


def words_of_hooks() -> set[object]:
    """All texts in the bundled plugins: hooks say a reason by its code."""
    hooks = (path for path in source.modules() if path.is_relative_to(source.PACKAGE / "plugins"))
    nodes = (node for path in hooks for node in ast.walk(source.parse(path)))
    return {node.value for node in nodes if isinstance(node, ast.Constant)}


def test_each_reason_is_produced() -> None:
    tables = {source.PACKAGE / "contract" / name for name in ("reasons.py", "failures.py")}
    others = (path for path in source.modules() if path not in tables and "Reason." in path.read_text())
    produced = {name for path in others for name in reasons_in(source.parse(path))}
    produced |= {reason.name for reason in DECLARABLE_REASONS & words_of_hooks()}
    assert sorted(set(Reason.__members__) - produced) == []
