"""Owns the tree of processes as a terminal shows it."""

from collections.abc import Iterable, Iterator

from archivebox.cli.output import Node
from archivebox.cli.records import record_of
from archivebox.core.progress.process_tree import Branch, branches
from archivebox.machine.models import Process


def trees(roots: Iterable[Process]) -> Iterator[Node]:
    """Each root with all below it."""
    for root in roots:
        for branch in branches(root.get_tree() or [root]):
            yield _node(branch)


def _node(branch: Branch) -> Node:
    node = _of_process(branch.row) if isinstance(branch.row, Process) else _of_work(branch)
    node.children.extend(map(_node, branch.children))
    return node


def _of_process(row: Process) -> Node:
    return Node(_text(row), record_of(row, seconds=row.seconds), _mark(row))


def _of_work(branch: Branch) -> Node:
    row = branch.row
    text = f"{branch.kind} {row}  [{row.status}]" if row is not None else f"{branch.kind} {branch.pk} (gone)"
    status, name = (row.status, str(row)) if row is not None else (None, None)
    return Node(text, {"type": branch.kind, "id": branch.pk, "status": status, "name": name}, "bold")


def _text(row: Process) -> str:
    seconds = "" if row.seconds is None else f"  {row.seconds:.2f} s"
    return f"{row.kind} {row.what}  pid {row.pid}  {_end(row)}{seconds}"


def _end(row: Process) -> str:
    if row.status != Process.StatusChoices.EXITED:
        return "(running)" if row.status == Process.StatusChoices.RUNNING else "(not started)"
    if row.exit_code is None:
        return row.end_reason or "lost"
    word = f" {row.end_reason}" if row.end_reason not in ("", "exited") else ""
    return f"exit {row.exit_code}{word}"


def _mark(row: Process) -> str:
    if row.status != Process.StatusChoices.EXITED:
        return "green"
    return "" if row.exit_code == 0 else "red"
