"""Owns the tree of processes as people see it, with the Crawl and the Snapshot between a worker and its hooks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from archivebox.base_models.literal import Literal
from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.models import Crawl
from archivebox.machine.models import Process
from archivebox.machine.process import DEEPEST

MOST_RUNNING = 1_000
"""Processes that run now, of which the tree is drawn."""
MOST_KEYS = 900
"""Crawls and Snapshots whose names are looked up at once: SQLite takes 999 values in a query."""

Key = tuple[UUID | None, UUID | None, UUID | None]
"""Parent process, Crawl, Snapshot: where a branch hangs."""


@dataclass(slots=True)
class Branch:
    """A process, or the Crawl or Snapshot that hooks below it served. ``row``: None where that is gone."""

    kind: str
    pk: UUID
    row: Process | Crawl | Snapshot | None
    children: "list[Branch]" = field(default_factory=list)


def process_is_seen(scope: ViewerScope) -> Q:
    """All that it works for is there and seen: its arguments and outputs tell of that.

    What somebody typed at the command line is theirs, and may name anything.
    """
    if scope.is_whole:
        return Q()
    page = seen_by(scope, Snapshot.objects.filter(pk=OuterRef("snapshot_id")))
    crawl = seen_by(scope, Crawl.objects.filter(pk=OuterRef("crawl_id")))
    works_for_what_is_seen = (Q(snapshot_id=None) | Q(Exists(page))) & (Q(crawl_id=None) | Q(Exists(crawl)))
    return ~Q(process_type=Literal(Process.TypeChoices.CLI)) & works_for_what_is_seen


def running_tree(scope: ViewerScope) -> list[Branch]:
    """What runs now, on all machines, with everything above it, as far as it is seen."""
    seen = Process.objects.filter(process_is_seen(scope))
    every = seen.select_related("machine").defer("stdout", "stderr", "env", "declared")
    rows = {row.pk: row for row in every.running()[:MOST_RUNNING]}  # in no order: that of an index of these alone
    asked: set[UUID] = set()
    while missing := {row.parent_id for row in rows.values() if row.parent_id} - rows.keys() - asked:
        asked |= missing
        rows |= {row.pk: row for row in every.filter(pk__in=missing)}
    return branches([rows[key] for key in sorted(rows)])


def branches(rows: Sequence[Process]) -> list[Branch]:
    """The trees that these rows make, parents before children. The first is a root in any case: rows may be damaged."""
    keys = {row.pk for row in rows}
    roots = [row for row in rows if row.parent_id not in keys] or rows[:1]
    builder = _Builder(rows)
    return [builder.branch_of(root) for root in roots]


class _Builder:
    """Some trees: their rows by parent, and the work that these served."""

    def __init__(self, rows: Sequence[Process]) -> None:
        self._children: dict[UUID, list[Process]] = {}
        for row in rows:
            if row.parent_id is not None:
                self._children.setdefault(row.parent_id, []).append(row)
        crawls = {row.crawl_id for row in rows if row.crawl_id}
        snapshots = {row.snapshot_id for row in rows if row.snapshot_id}
        self._crawls = _by_key(Crawl.objects.filter(pk__in=list(crawls)[:MOST_KEYS]))
        self._snapshots = _by_key(Snapshot.objects.filter(pk__in=list(snapshots)[:MOST_KEYS]))

    def branch_of(self, row: Process, depth: int = 0) -> Branch:
        branch = Branch("Process", row.pk, row)
        between: dict[Key, Branch] = {}
        for child in self._children.get(row.pk, []) if depth < DEEPEST else []:
            home = self._home(branch, row, child, between)
            home.children.append(self.branch_of(child, depth + 1))
        return branch

    def _home(self, branch: Branch, row: Process, child: Process, between: dict[Key, Branch]) -> Branch:
        """Where a child hangs: hooks of a worker below the Crawl and the Snapshot that they served."""
        if row.process_type != Process.TypeChoices.WORKER or child.process_type != Process.TypeChoices.HOOK:
            return branch
        home = branch
        if child.crawl_id:
            key: Key = (row.pk, child.crawl_id, None)
            home = _below(home, between, key, Branch("Crawl", child.crawl_id, self._crawls.get(child.crawl_id)))
        if child.snapshot_id:
            key = (row.pk, child.crawl_id, child.snapshot_id)
            found = self._snapshots.get(child.snapshot_id)
            home = _below(home, between, key, Branch("Snapshot", child.snapshot_id, found))
        return home


def _below(home: Branch, between: dict[Key, Branch], key: Key, branch: Branch) -> Branch:
    if key not in between:
        between[key] = branch
        home.children.append(branch)
    return between[key]


def _by_key(rows: "Iterable[Crawl | Snapshot]") -> "dict[UUID, Crawl | Snapshot]":
    return {row.pk: row for row in rows}
