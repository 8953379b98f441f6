"""Owns the links of a snapshot inside the archive: where it leads, and what led to it."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from archivebox.base_models.visibility import ViewerScope, seen_by
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.core.versions.url_versions import latest_versions
from archivebox.hooks import outputs_of
from archivebox.lib.urls import BadUrl, parse_url
from archivebox.web.snapshot.file_excerpts import read_part

MOST = 500
"""Links of a page that are looked for."""
SHOWN = 50


@dataclass(frozen=True, slots=True)
class Outlink:
    """A page that is linked to; ``snapshot_id`` is its latest version, None where it is not in the archive."""

    url: str
    title: str
    snapshot_id: UUID | None


@dataclass(frozen=True, slots=True)
class Links:
    """``kept`` are in the archive, ``others`` are not: ``count`` is how many of those there are."""

    kept: list[Outlink]
    others: list[Outlink]
    count: int
    inward: list[Snapshot]


def links_of(snapshot: Snapshot, results: Iterable[ArchiveResult], scope: ViewerScope) -> Links:
    """Those that plugins with the role ``links`` found, and the pages whose crawl came here by a link."""
    titles = _found(snapshot, results)
    known = latest_versions(titles, scope)
    links = [Outlink(url, title, known.get(url)) for url, title in titles.items()]
    others = [link for link in links if link.snapshot_id is None]
    pages = seen_by(scope, Snapshot.objects.kept())
    inward = pages.filter(scope.condition("outlinks__"), outlinks__url=snapshot.url).distinct().order_by("-pk")[:SHOWN]
    return Links([link for link in links if link.snapshot_id][:SHOWN], others[:SHOWN], len(others), list(inward))


def _found(snapshot: Snapshot, results: Iterable[ArchiveResult]) -> dict[str, str]:
    """URL → title, each once, the page itself left out."""
    titles: dict[str, str] = {}
    for result in results:
        for output in outputs_of(result.plugin):
            for name in result.output_files if output.role == "links" else ():
                if output.matches(name):
                    _read_titles(titles, snapshot, result.plugin, name)
    titles.pop(snapshot.url, None)
    return titles


def _read_titles(titles: dict[str, str], snapshot: Snapshot, plugin: str, name: str) -> None:
    for line in read_part(snapshot, plugin, name).lines():
        if len(titles) >= MOST:
            return
        try:
            url = parse_url(str(line.get("url") or "")).without_fragment
        except BadUrl:
            continue
        titles[url] = titles.get(url) or str(line.get("title") or "")[:200]
