"""Owns the tree of processes as people see it, with the Crawl and the Snapshot between a worker and its hooks."""

from collections.abc import Iterable, Iterator
from uuid import UUID

from archivebox.cli.output import Node
from archivebox.cli.records import record_of
from archivebox.core.models import Snapshot
from archivebox.crawls.models import Crawl
from archivebox.machine.models import Process

DEEPEST = 64

Key = tuple[UUID | None, UUID | None, UUID | None]
"""Parent process, Crawl, Snapshot: where a node hangs."""


def trees(roots: Iterable[Process]) -> Iterator[Node]:
    """Each root with all below it."""
    for root in roots:
        rows = root.get_tree()
        yield _Builder(rows).node_of(rows[0]) if rows else Node(_text(root), record_of(root))


class _Builder:
    """One tree: its rows by parent, and the names of the work they served."""

    def __init__(self, rows: list[Process]) -> None:
        self.children: dict[UUID, list[Process]] = {}
        for row in rows[1:]:
            if row.parent_id is not None:
                self.children.setdefault(row.parent_id, []).append(row)
        crawl_ids = {row.crawl_id for row in rows if row.crawl_id}
        snapshot_ids = {row.snapshot_id for row in rows if row.snapshot_id}
        self.crawls = _by_key(Crawl.objects.filter(pk__in=list(crawl_ids)[:900]))
        self.snapshots = _by_key(Snapshot.objects.filter(pk__in=list(snapshot_ids)[:900]))

    def node_of(self, row: Process, depth: int = 0) -> Node:
        node = Node(_text(row), record_of(row, seconds=row.seconds), _mark(row))
        between: dict[Key, Node] = {}
        for child in self.children.get(row.pk, []) if depth < DEEPEST else []:
            home = self._home(node, row, child, between)
            home.children.append(self.node_of(child, depth + 1))
        return node

    def _home(self, node: Node, row: Process, child: Process, between: dict[Key, Node]) -> Node:
        """Where a child hangs: hooks of a worker below the Crawl and the Snapshot that they served."""
        if row.process_type != Process.TypeChoices.WORKER or child.process_type != Process.TypeChoices.HOOK:
            return node
        home = node
        if child.crawl_id:
            key: Key = (row.pk, child.crawl_id, None)
            home = _below(home, between, key, "Crawl", self.crawls.get(child.crawl_id))
        if child.snapshot_id:
            key = (row.pk, child.crawl_id, child.snapshot_id)
            home = _below(home, between, key, "Snapshot", self.snapshots.get(child.snapshot_id))
        return home


def _below(home: Node, between: dict[Key, Node], key: Key, kind: str, row: Crawl | Snapshot | None) -> Node:
    if key not in between:
        pk = key[2] or key[1]
        text = f"{kind} {row}  [{row.status}]" if row is not None else f"{kind} {pk} (gone)"
        record = {"type": kind, "id": pk, "status": row.status if row else None, "name": str(row) if row else None}
        between[key] = Node(text, record, "bold")
        home.children.append(between[key])
    return between[key]


def _by_key(rows: "Iterable[Crawl | Snapshot]") -> "dict[UUID, Crawl | Snapshot]":
    return {row.pk: row for row in rows}


def _text(row: Process) -> str:
    seconds = "" if row.seconds is None else f"  {row.seconds:.2f} s"
    name = what(row)
    kind = row.worker_type if row.worker_type and row.worker_type != row.process_type else row.process_type
    return f"{kind} {name}  pid {row.pid}  {_end(row)}{seconds}"


def what(row: Process) -> str:
    """The hook's name, or the command as somebody would type it: without the interpreter of our own ones."""
    if row.hook_name:
        return row.hook_name
    words = [str(word) for word in row.cmd]
    if "archivebox" in words[:4]:
        words = words[words.index("archivebox") :]
    if "--process-id" in words:  # its row's id, which is shown where ids are shown
        at = words.index("--process-id")
        words = words[:at] + words[at + 2 :]
    text = " ".join(words)
    return text if len(text) <= 100 else f"{text[:99]}…"


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
