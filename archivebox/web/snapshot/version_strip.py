"""Owns the versions of a URL as a strip of time: which there are, where each stands, and which are neighbours."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.snapshot import Snapshot
from archivebox.core.unchanged_check import UnchangedCheck
from archivebox.replay.files import NotThereError
from archivebox.replay.folders import files_of
from archivebox.storage.shared_files import NOTE, NOTE_MAX, parse_note
from archivebox.web.snapshot.plugin_templates import title_of

MOST = 100
"""Versions on one strip, the newest."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One version; ``left`` is per cent of the strip."""

    snapshot: Snapshot
    left: float
    is_current: bool
    checks: tuple[datetime, ...] = ()
    """When it was looked at again, and had not changed; the last first."""


@dataclass(frozen=True, slots=True)
class Strip:
    """All versions, oldest first, and the neighbours of the one that is looked at."""

    dots: list[Dot]
    older: Snapshot | None
    newer: Snapshot | None

    @property
    def checks(self) -> tuple[datetime, ...]:
        """Of the version that is looked at."""
        return next((dot.checks for dot in self.dots if dot.is_current), ())

    @property
    def position(self) -> int:
        return next((number for number, dot in enumerate(self.dots, 1) if dot.is_current), 0)


@dataclass(frozen=True, slots=True)
class LinkedVersion:
    """An earlier version; ``version`` is None where it is gone or not seen. ``titles``: what is shown of it."""

    version: Snapshot | None
    titles: list[str]


def strip_of(snapshot: Snapshot, scope: ViewerScope) -> Strip:
    """The versions of this URL that are seen and that nobody removed."""
    rows = list(seen_by(scope, Snapshot.objects.kept()).of_url(snapshot.url)[:MOST])[::-1]
    checks = _looks_at(rows)
    times = [row.created_at.timestamp() for row in rows]
    first, length = min(times, default=0.0), max(times, default=0.0) - min(times, default=0.0)
    dots = [
        Dot(row, round(3 + 94 * ((at - first) / length if length else 0.5), 2), row.pk == snapshot.pk, checks[row.pk])
        for row, at in zip(rows, times, strict=True)
    ]
    at = next((number for number, row in enumerate(rows) if row.pk == snapshot.pk), None)
    if at is None:
        return Strip(dots, rows[-1] if rows else None, None)
    return Strip(dots, rows[at - 1] if at else None, rows[at + 1] if at + 1 < len(rows) else None)


def linked_from(snapshot: Snapshot, strip: Strip) -> LinkedVersion | None:
    """The version whose files stand for those of this one, as nothing had changed; None: its files are its own."""
    try:
        data, _ = files_of(snapshot).read_start([NOTE], NOTE_MAX)
    except NotThereError:
        return None
    key, plugins = parse_note(data)
    version = next((dot.snapshot for dot in strip.dots if str(dot.snapshot.pk) == key), None)
    return LinkedVersion(version, [title_of(plugin) for plugin in plugins]) if plugins else None


def _looks_at(versions: Sequence[Snapshot]) -> dict[UUID, tuple[datetime, ...]]:
    found: dict[UUID, tuple[datetime, ...]] = defaultdict(tuple)
    for look in UnchangedCheck.objects.filter(snapshot__in=[row.pk for row in versions]).order_by("-pk"):
        found[look.snapshot_id] += (look.created_at,)
    return found
