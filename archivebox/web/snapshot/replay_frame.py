"""Owns the frame in which a snapshot's page is replayed, and how well it is said to show the page.

``frame_of(request, snapshot)`` is all that a page needs: ``address`` and ``sandbox`` of its ``<iframe>``, or None where
nothing was recorded. The banner around it is the page's own. What hooks have estimated of the quality stands in their
results (``measures``, docs/plugin-contract.md); it is a stranger's, and read with care.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote
from uuid import UUID

from django.http import HttpRequest

from archivebox.contract.formats import Format
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.outputs.replay_quality import ESTIMATE, LEAST_GOOD, estimate_of, measures_of
from archivebox.core.page_storage.folder import local_folder
from archivebox.core.snapshot import Snapshot
from archivebox.lib.jsonl import JSON
from archivebox.replay import capability
from archivebox.replay.addresses import path_of, sandbox
from archivebox.replay.answer_type import is_pdf
from archivebox.replay.capability import Purpose
from archivebox.replay.index import RecordingIndex, indices
from archivebox.replay.models import create_script_view
from archivebox.replay.moments import moment_of
from archivebox.replay.scripts.place import origin_of_view, place_of
from archivebox.search.models import ShareLink
from archivebox.web.auth.replay_access import viewer_of, viewer_of_link
from archivebox.web.middleware import replay
from archivebox.web.page.redirects import our_address

_WORDS = (
    (100, "Replay complete", "good"), (LEAST_GOOD, "Replay nearly complete", "good"),
    (50, "Replay incomplete", "wait"), (0, "Replay incomplete", "bad"),
)  # fmt: skip
"""From so many percent: words, and the colour beside them."""
MOST = 20
"""Measures of one plugin, and missing files of one measure, that are shown."""
_ESTIMATES = frozenset({ESTIMATE, "article"})
"""Measures that say nothing more once the replay was measured."""


@dataclass(frozen=True, slots=True)
class QualityMeasure:
    """One comparison. ``percent``: None where it was not made, or could not be."""

    name: str
    percent: int | None
    sentence: str
    missing: tuple[tuple[str, str], ...] = ()
    """Addresses, each with why it is missing."""
    more: int = 0
    """How many are missing beside these."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What is known of the replay of a page. ``percent``, ``with_scripts``: None where it was not measured."""

    percent: int | None
    with_scripts: int | None
    estimate: int | None
    """Percent of its words that the page had as it was sent; None: not known."""
    measures: tuple[QualityMeasure, ...]

    @property
    def word(self) -> str:
        return "Quality: not checked yet" if self.percent is None else _at(self.percent)[0]

    @property
    def kind(self) -> str:
        """Its colour, as :func:`archivebox.web.templatetags.shown.kind` has them."""
        return "" if self.percent is None else _at(self.percent)[1]

    @property
    def may_be_better(self) -> bool:
        """Whether to capture the page again may help: what was not had may be had another time."""
        return any(one.missing for one in self.measures)

    @property
    def of_scripts(self) -> str:
        """What is known of the replay with scripts, as a sentence."""
        if self.with_scripts is None:
            return "The replay with scripts was not measured."
        return f"With its recorded scripts, the replay shows {self.with_scripts} %."


def _at(percent: int) -> tuple[str, str]:
    return next((word, kind) for least, word, kind in _WORDS if percent >= least)


def quality_of(snapshot: Snapshot, results: Iterable[ArchiveResult]) -> Quality:
    """What is known of the replay of a page with these results."""
    said = [one.output_json for one in results if isinstance(one.output_json, dict)]
    estimates = [entry for one in said for entry in measures_of(one)[:MOST]]
    measured = [one for one in snapshot.measures or [] if isinstance(one, dict)]
    entries = [*measured, *(one for one in estimates if not measured or one.get("name") not in _ESTIMATES)]
    return Quality(
        snapshot.quality,
        snapshot.quality_with_scripts,
        estimate_of(estimates),
        tuple(map(_measure, entries)),
    )


def _measure(said: dict[str, JSON]) -> QualityMeasure:
    percent, count = said.get("percent"), said.get("missing_count")
    missing = tuple(_pairs(said.get("missing")))
    return QualityMeasure(
        str(said.get("name", "")),
        percent if isinstance(percent, int) else None,
        str(said.get("sentence", "")),
        missing,
        max(count - len(missing), 0) if isinstance(count, int) else 0,
    )


def _pairs(said: JSON) -> Iterator[tuple[str, str]]:
    for pair in said[:MOST] if isinstance(said, list) else []:
        if isinstance(pair, list) and len(pair) == 2:
            yield str(pair[0]), str(pair[1])


# --- the frame -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Frame:
    """What a ``<iframe>`` of an archived page needs."""

    address: str
    sandbox: str | None
    """None for a PDF: the viewers of browsers work in no sandbox. What is none bears its sandbox in its own header."""
    may_run: bool = False
    """Whether scripts may be switched on."""
    view: UUID | None = None
    """The key of the script view in which they run."""

    @property
    def runs(self) -> bool:
        return self.view is not None


def index_of(snapshot: Snapshot) -> RecordingIndex:
    """What was recorded of a snapshot."""
    return indices.of(local_folder(snapshot))


def base_of(request: HttpRequest, snapshot: Snapshot, link: ShareLink | None = None, file: str = "") -> str:
    """What the addresses of a page's recording and files begin with, for whoever asks, or has a share link.

    ``file``: the only one that they open.
    """
    viewer = viewer_of(request) if link is None else viewer_of_link(link)
    purpose = Purpose.FILE if file else Purpose.FILES if link is None else Purpose.SHARED
    token = capability.grant(snapshot.pk, viewer, purpose, file)
    origin = replay().origin(snapshot.pk, request.get_host())
    return f"{origin}/{token}/{path_of(our_address(request), moment_of(snapshot), '')}"


def frame_of(
    request: HttpRequest, snapshot: Snapshot, copy: Format | None = None, link: ShareLink | None = None
) -> Frame | None:
    """The frame of the recorded page without scripts, or of a copy of it; None where neither is there.

    ``link``: whoever looks has this share link: links of the page lead nowhere.
    """
    folder, host = local_folder(snapshot), request.get_host()
    url = indices.of(folder).page(snapshot.url, snapshot.final_url)
    file = f"{copy.plugin}/{copy.file.name}" if copy is not None and copy.file is not None else ""
    if not (file or url):
        return None
    has_viewer = not file and is_pdf(folder, url)
    base = base_of(request, snapshot, link, "" if link is None else file)
    limits = None if has_viewer else sandbox(own=replay().isolates(host), scripts=False, links=link is None)
    may_run = link is None and bool(url) and not has_viewer and replay().runs_scripts(host)
    return Frame(base + (quote(file) or url), limits, may_run)


def scripted_frame(request: HttpRequest, snapshot: Snapshot) -> Frame | None:
    """The frame of the recorded page with its scripts; only where a person asks for it, so that no link does.

    None where nothing was recorded, or where no scripts may run.
    """
    folder = local_folder(snapshot)
    url = indices.of(folder).page(snapshot.url, snapshot.final_url)
    if not url or is_pdf(folder, url) or not replay().runs_scripts(request.get_host()):
        return None
    view, label = create_script_view(snapshot, viewer_of(request), url)
    address = origin_of_view(replay(), label, request.get_host()) + place_of(url).address(url)
    return Frame(address, sandbox(own=True, scripts=True), may_run=True, view=view.pk)
