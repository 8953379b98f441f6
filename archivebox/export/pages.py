"""Owns what an export says of a page: its row, tags and results, and its files."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from django.db import models

from archivebox.base_models.visibility import ViewerScope
from archivebox.contract.formats import best_of
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.note import Note
from archivebox.core.page_storage.folder import local_folder
from archivebox.core.snapshot import Snapshot
from archivebox.hooks import outputs_of
from archivebox.lib.files import walk_outputs
from archivebox.lib.jsonl import JSON
from archivebox.storage.layout import HOOK_RUNS


@dataclass(frozen=True)
class ExportedPage:
    """One Snapshot with all that belongs to it."""

    snapshot: Snapshot
    tags: list[str]
    results: list[ArchiveResult]
    notes: list[Note]
    has_whole_crawl: bool
    """Whether its crawl is in the export as it is: other URLs of it may be hidden from whoever asked for this one."""

    @cached_property
    def folder(self) -> Path:
        return local_folder(self.snapshot)

    def files(self) -> list[str]:
        """The names of its files, below its folder, without what the engine keeps there; links are none.

        What is there: rows also name files that a later hook has packed or taken away.
        """
        kept = walk_outputs(self.folder)
        return [file.path for file in kept if not file.path.startswith(f"{HOOK_RUNS}/")]

    def recordings(self) -> list[Path]:
        """Its WARC files."""
        return [self.folder / name for name in self.files() if name.endswith(".warc.gz")]

    def text(self, most: int) -> str:
        """The first so many bytes of the text that stands for it; empty where none was kept."""
        best = best_of(self.results, outputs_of, "text")
        if best is None or best.file is None:
            return ""
        return read_beginning(self.folder, f"{best.plugin}/{best.file.name}", most).decode("utf-8", "ignore")

    def record(self) -> dict[str, JSON]:
        """The page as one JSON object, field names as its rows have them."""
        one = self.snapshot
        return {
            "type": "Snapshot",
            "id": str(one.pk),
            "url": one.url,
            "title": one.title,
            "created_at": one.created_at.isoformat(),
            "bookmarked_at": None if one.bookmarked_at is None else one.bookmarked_at.isoformat(),
            "status": one.status,
            "reason": one.reason,
            "final_url": one.final_url,
            "http_status": one.http_status,
            "mime_type": one.mime_type,
            "quality": one.quality,
            "quality_with_scripts": one.quality_with_scripts,
            "crawl_id": str(one.crawl_id),
            "depth": one.depth,
            "tags": list(self.tags),
            "folder": one.output_dir,
            "results": [_result(result) for result in self.results],
        }


def _result(result: ArchiveResult) -> dict[str, JSON]:
    return {
        "plugin": result.plugin,
        "hook_name": result.hook_name or "",
        "status": result.status,
        "reason": result.reason,
        "output_str": result.output_str,
        "output_size": result.output_size,
        "files": {name: about.get("size", 0) for name, about in result.output_files.items()},
    }


def pages_of(snapshots: "models.QuerySet[Snapshot]", scope: ViewerScope) -> list[ExportedPage]:
    """For somebody who sees so far, the newest first; a few queries for all of them."""
    related = ("tags", "archiveresult_set", "note_set__author")
    rows = snapshots.order_by("-id").select_related("crawl__created_by", "created_by").prefetch_related(*related)
    return [_page(row, scope) for row in rows]


def _page(row: Snapshot, scope: ViewerScope) -> ExportedPage:
    is_own = scope.is_whole or row.crawl.created_by_id == scope.account
    tags, results = sorted(tag.name for tag in row.tags.all()), sorted(row.archiveresult_set.all(), key=_order)
    return ExportedPage(row, tags, results, list(row.note_set.all()), is_own)


def read_beginning(folder: Path, path: str, most: int) -> bytes:
    """The first so many bytes of a file below ``folder``; none of what is no file, is gone, or lies behind a link."""
    try:
        if (folder / path).resolve() != (folder.resolve() / path):
            return b""
        with (folder / path).open("rb") as file:
            return file.read(most)
    except OSError:
        return b""


def _order(result: ArchiveResult) -> tuple[str, str]:
    return result.hook_name or result.plugin, result.plugin
