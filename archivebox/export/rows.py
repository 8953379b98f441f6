"""Owns rows as an export has them for another ArchiveBox: a Snapshot with its crawl, results, tags and notes."""

from collections.abc import Sequence

from archivebox.core.note import Note
from archivebox.export.pages import ExportedPage

SNAPSHOT_COLUMNS = (
    "id", "url", "title", "depth", "parent_snapshot_id", "status", "reason", "visibility", "final_url", "http_status",
    "mime_type", "quality", "quality_with_scripts", "measures", "measured_at", "is_lossy", "size", "current_step",
    "fence", "sealed_at", "bookmarked_at",
)  # fmt: skip
"""What is known of a page; the rest is of work on it (leases, retries), follows from these (domain, folder), or is its
settings: in these there may be secrets, and commands.
"""
CRAWL_COLUMNS = ("id", "label", "urls", "max_depth", "tags_str", "status", "reason", "visibility")
_OF_OTHER_PAGES = {"label": "", "tags_str": "", "reason": ""}
"""What a crawl says of all of its pages."""
RESULT_COLUMNS = (
    "id", "plugin", "hook_name", "status", "reason", "attempts", "start_ts", "end_ts", "output_str", "output_json",
    "output_files", "output_size", "output_mimetypes",
)  # fmt: skip


def page_row(page: ExportedPage) -> dict[str, object]:
    """One page as one line; owners and authors by their user names."""
    one, crawl = page.snapshot, page.snapshot.crawl
    hidden = {} if page.has_whole_crawl else _OF_OTHER_PAGES | {"urls": one.url}
    return {
        "type": "Snapshot",
        **_columns(one, SNAPSHOT_COLUMNS),
        "owner": one.created_by.username,
        "tags": list(page.tags),
        "notes": [_note(note) for note in page.notes],
        "results": [_columns(result, RESULT_COLUMNS) for result in page.results],
        "crawl": _columns(crawl, CRAWL_COLUMNS) | hidden | {"owner": crawl.created_by.username},
    }


def _columns(row: object, names: Sequence[str]) -> dict[str, object]:
    return {name: getattr(row, name) for name in names}


def _note(note: Note) -> dict[str, object]:
    return {"id": note.pk, "author": note.author.username if note.author else "", "text": note.text}
