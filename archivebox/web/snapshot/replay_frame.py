"""Owns the frame in which a snapshot's page is replayed: what the page of a snapshot shows first.

``frame_of(request, snapshot)`` is all that a page needs: ``address`` and ``sandbox`` of its ``<iframe>``, or None where
nothing was recorded. The banner around it is the page's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest

from archivebox.contract.formats import Format, FormatKind, formats_of
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.page_storage.folder import local_folder
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import outputs_of
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
from archivebox.web.middleware.content_security_policy import replay
from archivebox.web.page.redirects import our_address
from archivebox.web.snapshot.quality_labels import Quality


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
