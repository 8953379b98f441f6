"""Owns the frame in which a snapshot's page is replayed, and how well it is said to show the page.

``frame_of(request, snapshot)`` is all that a page needs: ``address`` and ``sandbox`` of its ``<iframe>``, or None where
nothing was recorded. The banner around it is the page's own. What hooks have estimated of the quality stands in their
results (``measures``, docs/plugin-contract.md); it is a stranger's, and read with care.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest

from archivebox.contract.formats import Format, FormatKind, formats_of
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.outputs.replay_quality import ESTIMATE, LEAST_FIRST, LEAST_GOOD, estimate_of, measures_of
from archivebox.core.page_storage.folder import local_folder
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import outputs_of
from archivebox.lib.jsonl import JSON
from archivebox.replay import capability
from archivebox.replay.addresses import path_of
from archivebox.replay.answer_type import is_pdf
from archivebox.replay.capability import Purpose
from archivebox.replay.index import RecordingIndex, indices
from archivebox.replay.moments import moment_of
from archivebox.replay.origins import sandbox
from archivebox.replay.scripts.host import origin_of_view
from archivebox.replay.scripts.place import place_of
from archivebox.replay.scripts.view import create_script_view
from archivebox.search.share import ShareLink
from archivebox.web.auth.replay_access import viewer_of, viewer_of_link
from archivebox.web.middleware import replay
from archivebox.web.page.redirects import our_address

_WORDS = ((100, "whole", "good"), (LEAST_GOOD, "nearly whole", "good"), (50, "in part", "wait"), (0, "poor", "bad"))
"""From so many percent: a word, and the colour beside it."""
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
    is_built_by_scripts: bool
    measures: tuple[QualityMeasure, ...]

    @property
    def word(self) -> str:
        return "not measured" if self.percent is None else _at(self.percent)[0]

    @property
    def kind(self) -> str:
        """Its colour, as :func:`archivebox.web.templatetags.shown.kind` has them."""
        return "" if self.percent is None else _at(self.percent)[1]

    @property
    def may_be_better(self) -> bool:
        """Whether to capture the page again may help: what was not had may be had another time."""
        return any(one.missing for one in self.measures)

    @property
    def why_poor(self) -> str:
        """Why another format opens first, as a sentence: as measured, else by the estimate. Empty: the replay does."""
        if self.percent is not None:
            sentence = f"Without its scripts, the replay shows {self.percent} % of this page."
            return sentence if self.percent < LEAST_FIRST else ""
        if self.estimate is not None and self.estimate < LEAST_GOOD:
            return f"This page is built by scripts: {self.estimate} % of its words were in what the server sent."
        return "This page is built by scripts." if self.is_built_by_scripts else ""

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
        any(one.get("built_by_scripts") is True for one in said),
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
    """What a ``<iframe>`` of a replayed page needs."""

    address: str
    sandbox: str | None
    """None for a PDF: the viewers of browsers work in no sandbox. What is none bears its sandbox in its own header."""
    may_run: bool
    """Whether scripts may be switched on: only where each snapshot has an origin of its own."""
    view: UUID | None = None
    """The key of the script view in which they run."""

    @property
    def runs(self) -> bool:
        return self.view is not None


def preferred_copy(quality: Quality, results: Sequence[ArchiveResult]) -> Format | None:
    """What to look at first where the replay without scripts shows too little: the best saved copy, else the picture.

    None: the replay is good enough, as far as is known, or there is nothing else.
    """
    if not quality.why_poor:
        return None
    formats = [one for one in formats_of(results, outputs_of) if one.files and not one.is_aside]
    copies = (one for kind in (FormatKind.PAGE, FormatKind.PICTURE) for one in formats if one.kind is kind)
    return next(copies, None)


def index_of(snapshot: Snapshot) -> RecordingIndex:
    """What was recorded of a snapshot."""
    return indices.of(local_folder(snapshot))


def shared_frame(request: HttpRequest, snapshot: Snapshot, link: ShareLink) -> Frame | None:
    """The frame of the recorded page for whoever has a share link: without scripts, and links lead nowhere."""
    folder = local_folder(snapshot)
    url = indices.of(folder).page(snapshot.url, snapshot.final_url)
    if not url:
        return None
    address = shared_base(request, snapshot, link) + url
    limits = sandbox(own=replay().isolates(request.get_host()), scripts=False, links=False)
    return Frame(address, None if is_pdf(folder, url) else limits, may_run=False)


def shared_base(request: HttpRequest, snapshot: Snapshot, link: ShareLink) -> str:
    """What the addresses of a shared page's recording begin with."""
    token = capability.grant(snapshot.pk, viewer_of_link(link), Purpose.SHARED)
    origin = replay().origin(snapshot.pk, request.get_host())
    return f"{origin}/{token}/{path_of(our_address(request), moment_of(snapshot), '')}"


def frame_of(request: HttpRequest, snapshot: Snapshot) -> Frame | None:
    """The frame of the recorded page, without scripts."""
    folder = local_folder(snapshot)
    url = indices.of(folder).page(snapshot.url, snapshot.final_url)
    if not url:
        return None
    may_run = replay().isolates(request.get_host())
    token = capability.grant(snapshot.pk, viewer_of(request), Purpose.FILES)
    path = path_of(our_address(request), moment_of(snapshot), url)
    origin = replay().origin(snapshot.pk, request.get_host())
    if is_pdf(folder, url):
        return Frame(f"{origin}/{token}/{path}", None, may_run=False)
    return Frame(f"{origin}/{token}/{path}", sandbox(own=may_run, scripts=False), may_run)


def scripted_frame(request: HttpRequest, snapshot: Snapshot) -> Frame | None:
    """The frame of the recorded page with its scripts; only in the answer to a POST, so that no link switches them on.

    None where nothing was recorded, or where snapshots have no host names of their own.
    """
    folder = local_folder(snapshot)
    url = indices.of(folder).page(snapshot.url, snapshot.final_url)
    if not url or is_pdf(folder, url) or not replay().isolates(request.get_host()):
        return None
    view, label = create_script_view(snapshot, viewer_of(request), url)
    address = origin_of_view(replay(), label, request.get_host()) + place_of(url).address(url)
    return Frame(address, sandbox(own=True, scripts=True), may_run=True, view=view.pk)
