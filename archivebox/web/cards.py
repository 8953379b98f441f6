"""Owns what a list shows of each snapshot: picture, icon, counts of results, size."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from django.http import HttpRequest

from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.replay import capability
from archivebox.replay.capability import Purpose
from archivebox.web.headers import replay
from archivebox.web.viewers import viewer_of

PICTURES = {"screenshot": ("screenshot.png",), "favicon": ("favicon.",)}
"""What the plugins that draw them call their pictures, by the beginning of the name."""
DONE = ("succeeded",)
BAD = ("failed",)
OPEN = ("queued", "started", "backoff")


@dataclass
class Card:
    """One snapshot as a list shows it."""

    snapshot: Snapshot
    origin: str
    """Where its files are seen."""
    viewer: str
    """Whose capabilities its addresses hold."""
    pictures: dict[str, str] = field(default_factory=dict)
    succeeded: int = 0
    failed: int = 0
    open: int = 0
    total: int = 0
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
    def screenshot(self) -> str:
        return self.pictures.get("screenshot", "")

    @property
    def favicon(self) -> str:
        return self.pictures.get("favicon", "")

    @property
    def is_busy(self) -> bool:
        return self.snapshot.status in Snapshot.OPEN

    def take(self, result: ArchiveResult) -> None:
        self.total += 1
        self.size += result.output_size
        self.succeeded += result.status in DONE
        self.failed += result.status in BAD
        self.open += result.status in OPEN
        for begin in PICTURES.get(result.plugin, ()):
            for name in result.output_files:
                if name.startswith(begin):
                    self.pictures[result.plugin] = self._address_of_one(result.plugin, name)


def address_of(plugin: str, name: str) -> str:
    """A file of a plugin, relative to the snapshot's address."""
    return quote(f"{plugin}/{name}")


def cards(request: HttpRequest, snapshots: Sequence[Snapshot]) -> list[Card]:
    """A card for each, from one query for all their results."""
    host, viewer = request.get_host(), viewer_of(request)
    made = {snapshot.pk: Card(snapshot, replay().origin(snapshot.pk, host), viewer) for snapshot in snapshots}
    columns = ("snapshot_id", "plugin", "status", "output_size", "output_files")
    for result in ArchiveResult.objects.filter(snapshot__in=made).only(*columns):
        made[result.snapshot_id].take(result)
    return list(made.values())
