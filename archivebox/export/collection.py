"""Owns the export that another ArchiveBox imports: rows as JSON lines, and every file with its SHA-256.

The zip file has `pages/<id>/<path>` for the files of each page (paths as `safe_name` writes them), then `pages.jsonl`,
a line each page, and `archivebox.json`, which says what it is and how much there is.
"""

import json
from collections.abc import Sequence

from archivebox import __version__
from archivebox.core.note import Note
from archivebox.export.pages import ExportedPage
from archivebox.export.writer import Failures, Writer
from archivebox.export.zip_parts import DIRECTORY, ZipPart, end_zip, safe_name, zip_part
from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON

KIND = "archivebox-collection"
VERSION = 1
ABOUT = "archivebox.json"
PAGES = "pages.jsonl"
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


def member_name(page_id: object, path: str) -> str:
    return f"pages/{page_id}/{safe_name(path)}"


class CollectionWriter(Writer):
    """All that there is of the pages."""

    beside = (DIRECTORY, PAGES)

    def append(self, pages: Sequence[ExportedPage]) -> Failures:
        with zip_part(self.files) as part:
            for page in pages:
                files = self._add_files(page, part)
                self.files[PAGES].write(jsonl.dumps(page_row(page) | {"files": files}))
        return {}

    def _add_files(self, page: ExportedPage, part: ZipPart) -> list[JSON]:
        found: list[JSON] = []
        for path in page.files():
            member = part.add_file(page.folder / path, member_name(page.snapshot.pk, path))
            if member is not None:
                found.append({"path": safe_name(path), "size": member.size, "sha256": member.sha256})
        return found

    def write_end(self) -> None:
        about = {"format": KIND, "version": VERSION, "software": f"ArchiveBox {__version__}", **self._counts()}
        with zip_part(self.files) as part:
            part.add(self.files[PAGES], PAGES)
            part.add_bytes(jsonl.dumps(about), ABOUT)
        end_zip(self.files)

    def _counts(self) -> dict[str, int]:
        lines, pages, files, size = self.files[PAGES], 0, 0, 0
        lines.seek(0)
        for line in lines:
            listed = json.loads(line)["files"]
            pages, files, size = pages + 1, files + len(listed), size + sum(file["size"] for file in listed)
        return {"pages": pages, "files": files, "size": size}


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
