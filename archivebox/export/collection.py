"""Owns the export that another ArchiveBox imports: rows as JSON lines, and every file with its SHA-256.

The zip file has `pages/<id>/<path>` for the files of each page (paths as `safe_name` writes them), then `pages.jsonl`,
a line each page (:mod:`archivebox.export.rows`), and `archivebox.json`, which says what it is and how much there is.
"""

import json
from collections.abc import Sequence

from archivebox import __version__
from archivebox.export.pages import ExportedPage
from archivebox.export.rows import page_row
from archivebox.export.writer import Failures, Writer
from archivebox.export.zip_parts import DIRECTORY, ZipPart, end_zip, safe_name, zip_part
from archivebox.lib import jsonl
from archivebox.lib.jsonl import JSON

KIND = "archivebox-collection"
VERSION = 1
ABOUT = "archivebox.json"
PAGES = "pages.jsonl"


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
