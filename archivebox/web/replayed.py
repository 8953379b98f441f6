"""Owns the frame in which a snapshot's page is replayed: what the page of a snapshot shows first.

``frame_of(request, snapshot)`` is all that a page needs: ``address`` and ``sandbox`` of its ``<iframe>``, or None where
nothing was recorded. The banner around it is the page's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from archivebox.contract.formats import Format, Kind, formats_of
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import outputs_of
from archivebox.replay import capability
from archivebox.replay.addresses import path_of
from archivebox.replay.capability import Purpose
from archivebox.replay.index import Index, indices
from archivebox.replay.moments import moment_of
from archivebox.replay.origins import sandbox
from archivebox.search.share import ShareLink
from archivebox.web.back import our_address
from archivebox.web.headers import replay
from archivebox.web.viewers import viewer_of, viewer_of_link


@dataclass(frozen=True, slots=True)
class Frame:
    """What a ``<iframe>`` of a replayed page needs."""

    address: str
    sandbox: str
    may_run: bool
    """Whether scripts may be switched on: only where each snapshot has an origin of its own."""
    runs: bool
    """Whether they are."""


def copy_to_prefer(results: Sequence[ArchiveResult]) -> Format | None:
    """What to look at instead of the replay where a page is built by its scripts, which are off there.

    The best copy that was saved as they had made it; a hook says that they did, with ``built_by_scripts``.
    """
    about = (one.output_json for one in results)
    if not any(isinstance(one, dict) and one.get("built_by_scripts") is True for one in about):
        return None
    formats = formats_of(results, outputs_of)
    return next((one for one in formats if one.kind is Kind.PAGE and one.files and not one.is_aside), None)


def index_of(snapshot: Snapshot) -> Index:
    """What was recorded of a snapshot."""
    return indices.of(snapshot.path)


def shared_frame(request: HttpRequest, snapshot: Snapshot, link: ShareLink) -> Frame | None:
    """The frame of the recorded page for whoever has a share link: without scripts, and links lead nowhere."""
    url = index_of(snapshot).page(snapshot.url, snapshot.final_url)
    if not url:
        return None
    address = shared_base(request, snapshot, link) + url
    return Frame(address, sandbox(own=replay().isolates(request.get_host()), scripts=False, links=False), False, False)


def shared_base(request: HttpRequest, snapshot: Snapshot, link: ShareLink) -> str:
    """What the addresses of a shared page's recording begin with."""
    token = capability.grant(snapshot.pk, viewer_of_link(link), Purpose.SHARED)
    origin = replay().origin(snapshot.pk, request.get_host())
    return f"{origin}/{token}/{path_of(our_address(request), moment_of(snapshot), '')}"


def frame_of(request: HttpRequest, snapshot: Snapshot, *, scripts: bool = False) -> Frame | None:
    """The frame of the recorded page; ``scripts`` only in the answer to a POST, so that no link switches them on."""
    url = index_of(snapshot).page(snapshot.url, snapshot.final_url)
    if not url:
        return None
    may_run = replay().isolates(request.get_host())
    scripts = scripts and may_run
    purpose = Purpose.SCRIPTS if scripts else Purpose.FILES
    token = capability.grant(snapshot.pk, viewer_of(request), purpose)
    path = path_of(our_address(request), moment_of(snapshot), url)
    origin = replay().origin(snapshot.pk, request.get_host())
    return Frame(f"{origin}/{token}/{path}", sandbox(own=may_run, scripts=scripts), may_run, scripts)
