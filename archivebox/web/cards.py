"""Owns what a list shows of each snapshot: picture, icon, verdict, size."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote

from django.http import HttpRequest

from archivebox.contract.presentation import Role
from archivebox.contract.verdicts import Verdict, judge
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import outputs_of
from archivebox.replay import capability
from archivebox.replay.capability import Purpose
from archivebox.web.headers import replay
from archivebox.web.viewers import viewer_of

SHOWN_IN_LISTS: tuple[Role, ...] = ("picture", "icon")
COLUMNS = (
    "snapshot_id", "plugin", "hook_name", "status", "reason", "process_id", "output_str", "output_size", "output_files",
)  # fmt: skip
"""Of a result, what a card looks at."""
NONE = (sys.maxsize, "")
"""Rank and address where nothing plays a role."""


@dataclass
class Card:
    """One snapshot as a list shows it."""

    snapshot: Snapshot
    origin: str
    """Where its files are seen."""
    viewer: str
    """Whose capabilities its addresses hold."""
    pictures: dict[Role, tuple[int, str]] = field(default_factory=dict)
    """Rank and address of the best file that plays a role."""
    results: list[ArchiveResult] = field(default_factory=list)
    size: int = 0

    def base(self, purpose: Purpose = Purpose.FILES) -> str:
        """Address of all its files, with the capability to see them; ends with a slash."""
        return f"{self.origin}/{capability.grant(self.snapshot.pk, self.viewer, purpose)}/"

    def _address_of_one(self, plugin: str, name: str) -> str:
        """Address of one file, with a capability for that file alone."""
        token = capability.grant(self.snapshot.pk, self.viewer, Purpose.FILE, f"{plugin}/{name}")
        return f"{self.origin}/{token}/{address_of(plugin, name)}"

    @property
    def title(self) -> str:
        return self.snapshot.title or self.snapshot.url.partition("://")[2].rstrip("/") or self.snapshot.url

    @property
    def picture(self) -> str:
        return self.pictures.get("picture", NONE)[1]

    @property
    def icon(self) -> str:
        return self.pictures.get("icon", NONE)[1]

    @property
    def is_busy(self) -> bool:
        return self.snapshot.status in Snapshot.OPEN

    @cached_property
    def verdict(self) -> Verdict:
        """What came of it; asked when all its results have been taken."""
        return judge(self.snapshot.status, self.snapshot.http_status, self.results, outputs_of)

    def take(self, result: ArchiveResult) -> None:
        self.results.append(result)
        self.size += result.output_size
        for output in outputs_of(result.plugin):
            known = self.pictures.get(output.role, NONE)
            name = next(filter(output.matches, result.output_files), None)
            if output.role in SHOWN_IN_LISTS and name is not None and output.rank < known[0]:
                self.pictures[output.role] = (output.rank, self._address_of_one(result.plugin, name))


def address_of(plugin: str, name: str) -> str:
    """A file of a plugin, relative to the snapshot's address."""
    return quote(f"{plugin}/{name}")


def cards(request: HttpRequest, snapshots: Sequence[Snapshot]) -> list[Card]:
    """A card for each, from one query for all their results."""
    host, viewer = request.get_host(), viewer_of(request)
    made = {snapshot.pk: Card(snapshot, replay().origin(snapshot.pk, host), viewer) for snapshot in snapshots}
    for result in ArchiveResult.objects.filter(snapshot__in=made).only(*COLUMNS):
        made[result.snapshot_id].take(result)
    return list(made.values())
