"""Owns what a list shows of each snapshot: picture, icon, what was kept, verdict, tags, versions, size."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit
from uuid import UUID

from django.db.models import Count, F, Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from archivebox.accounts.permission import visible_snapshots
from archivebox.contract.presentation import Role
from archivebox.contract.verdicts import State, Verdict, judge
from archivebox.core.archiveresult import ArchiveResult, ArchiveResultQuerySet
from archivebox.core.progress.result_summary import ResultLine
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.core.tag import Tag
from archivebox.hooks import outputs_of, plugins
from archivebox.replay import capability
from archivebox.replay.addresses import path_of
from archivebox.replay.capability import Purpose
from archivebox.replay.moments import moment_of
from archivebox.search.finding import Match
from archivebox.web.auth.replay_access import viewer_of
from archivebox.web.middleware import replay
from archivebox.web.page.redirects import our_address
from archivebox.web.snapshot.file_excerpts import address_of
from archivebox.web.snapshot.plugin_templates import drawn, has_template


@dataclass(frozen=True, slots=True)
class Mark:
    """One kind of thing that can be kept: a file of this role, whose type begins so."""

    icon: str
    word: str
    role: Role
    mimetype: str = ""


MARKS = (
    Mark("globe", "Page", "preview", "text/html"),
    Mark("image", "Picture", "picture"),
    Mark("file-text", "PDF", "preview", "application/pdf"),
    Mark("book-open", "Article", "reader"),
    Mark("text", "Text", "text"),
    Mark("video", "Video", "preview", "video/"),
    Mark("headphones", "Sound", "preview", "audio/"),
    Mark("archive", "Recording of the network", "responses"),
    Mark("folder", "Files", "files"),
)
"""In the order they are shown."""


def marks_of(results: Iterable[ResultLine]) -> list[Mark]:
    """What these results come to, each kind once."""
    found = {mark for result in results if result.output_files for mark in _marks(result)}
    return [mark for mark in MARKS if mark in found]


def _marks(result: ResultLine) -> Iterator[Mark]:
    for output in outputs_of(result.plugin):
        name = next(filter(output.matches, result.output_files), None)
        mimetype = result.output_files[name].get("mimetype", "") if name is not None else ""
        if name is not None:
            yield from (mark for mark in MARKS if mark.role == output.role and mimetype.startswith(mark.mimetype))


SHOWN_IN_LISTS: tuple[Role, ...] = ("picture", "icon")
LARGEST_PICTURE = 150_000
"""Bytes of a picture that a list shows: thumbnails have some thousands, and 60 screenshots are slow to draw."""
NOT_FOR_IT = Q(status="noresults") | Q(status="skipped") & (
    Q(reason="not_applicable") | Q(reason__startswith="not_applicable:") | Q(reason__startswith="disabled:")
)
"""Results that say nothing of a page; most have one of these, and a list of 60 has thousands."""
HUE_STEP = 15
"""Degrees between the hues that the style sheet knows."""
NONE = (sys.maxsize, "")
"""Rank and address where nothing plays a role."""


@dataclass
class Card:
    """One snapshot as a list shows it."""

    snapshot: Snapshot
    origin: str
    """Where its files are seen."""
    pictures_origin: str
    """Where the pictures of all lists are seen: one host, so that they need few connections."""
    app: str
    """Scheme and host by which the viewer reaches us: links of archived pages lead back to it."""
    viewer: str
    """Whose capabilities its addresses hold."""
    pictures: dict[Role, tuple[int, str]] = field(default_factory=dict)
    """Rank and address of the best file that plays a role."""
    results: list[ResultLine] = field(default_factory=list)
    drawing: list[ArchiveResult] = field(default_factory=list)
    """Those of plugins that draw on cards by themselves."""
    tags: list[Tag] = field(default_factory=list)
    versions: int = 1
    size: int = 0
    hue: int | None = None
    """Of the page's colour, as the plugin that took its picture says; one of those that the style sheet knows."""
    match: Match | None = None
    """Where in it the words are that were searched for."""

    def base(self, purpose: Purpose = Purpose.FILES) -> str:
        """Address of all its files, with the capability to see them; ends with a slash."""
        token = capability.grant(self.snapshot.pk, self.viewer, purpose)
        return f"{self.origin}/{token}/{path_of(self.app, moment_of(self.snapshot), '')}"

    def _picture_at(self, plugin: str, name: str) -> str:
        """Address of one picture, with a capability for that file alone."""
        token = capability.grant(self.snapshot.pk, self.viewer, Purpose.FILE, f"{plugin}/{name}")
        return f"{self.pictures_origin}/{token}/{address_of(plugin, name)}"

    @property
    def title(self) -> str:
        return self.snapshot.title or self.snapshot.url.partition("://")[2].rstrip("/") or self.snapshot.url

    @property
    def host(self) -> str:
        return urlsplit(self.snapshot.url).netloc.rpartition("@")[2]

    @property
    def initial(self) -> str:
        """A letter that stands for its host; empty where that is a number."""
        host = urlsplit(self.snapshot.url).hostname or ""
        return "" if ":" in host or host.rpartition(".")[2].isdigit() else host.removeprefix("www.")[:1].upper()

    @property
    def path(self) -> str:
        """What of the URL comes after the host."""
        return "/" + self.snapshot.url.partition("://")[2].partition("/")[2]

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

    @cached_property
    def marks(self) -> list[Mark]:
        """What was kept; asked when all its results have been taken."""
        return marks_of(self.results) if self.shows_page else []

    @property
    def shows_page(self) -> bool:
        """Whether what was kept is of the page itself, as far as it has come, and not evidence that nothing came."""
        return self.verdict.state not in {State.NOTHING, State.REFUSED}

    @property
    def drawn(self) -> list[SafeString]:
        """What plugins draw for a card by themselves."""
        return [html for result in self.drawing if (html := drawn(result, "card", self.base(), ""))]

    def add(self, result: ResultLine) -> None:
        self.results.append(result)
        self.size += result.output_size
        for output in outputs_of(result.plugin):
            known = self.pictures.get(output.role, NONE)
            if output.role in SHOWN_IN_LISTS and output.rank < known[0]:
                small = (name for name, about in result.output_files.items() if about.get("size", 0) <= LARGEST_PICTURE)
                name = next(filter(output.matches, small), None)
                if name is not None:
                    self.pictures[output.role] = (output.rank, self._picture_at(result.plugin, name))


def cards(request: HttpRequest, snapshots: Sequence[Snapshot]) -> list[Card]:
    """A card for each, from one query for all their results, one for their tags, one for their versions."""
    host, viewer, shown = request.get_host(), viewer_of(request), replay()
    pictures = shown.pictures_origin(host)
    app = our_address(request)
    made = {one.pk: Card(one, shown.origin(one.pk, host), pictures, app, viewer) for one in snapshots}
    results: ArchiveResultQuerySet = ArchiveResult.objects.filter(snapshot__in=made)
    for line in results.exclude(NOT_FOR_IT).lines():
        made[line.snapshot_id].add(line)
    _put_drawings(made, results)
    _put_tags(made)
    _put_hues(made, results)
    _count_versions(made.values(), visible_snapshots(request.user))
    return list(made.values())


def _put_drawings(made: Mapping[UUID, Card], results: ArchiveResultQuerySet) -> None:
    drawing = [plugin for plugin in plugins() if has_template(plugin, "card")]
    for result in results.filter(plugin__in=drawing).exclude(NOT_FOR_IT) if drawing else ():
        card = made[result.snapshot_id]
        result.snapshot = card.snapshot
        card.drawing.append(result)


def _put_tags(made: Mapping[UUID, Card]) -> None:
    for tag in Tag.objects.filter(snapshot_set__in=made).annotate(snapshot_id=F("snapshot_set")):
        made[tag.snapshot_id].tags.append(tag)


def _put_hues(made: Mapping[UUID, Card], results: ArchiveResultQuerySet) -> None:
    """A hook may have said anything: only a number of degrees is taken."""
    takers = [name for name, plugin in plugins().items() if plugin.may_keep({"picture"})]
    said = results.filter(plugin__in=takers, status="succeeded", output_json__isnull=False)
    for snapshot_id, record in said.values_list("snapshot_id", "output_json"):
        hue = record.get("hue") if isinstance(record, dict) else None
        if isinstance(hue, int) and 0 <= hue < 360:
            made[snapshot_id].hue = round(hue / HUE_STEP) * HUE_STEP % 360


def _count_versions(shown: Iterable[Card], seen: SnapshotQuerySet) -> None:
    kept = seen.without_unfetched().filter(url__in={card.snapshot.url for card in shown})
    counts = dict(kept.values_list("url").annotate(Count("pk")).order_by())
    for card in shown:
        card.versions = counts.get(card.snapshot.url, 1)
