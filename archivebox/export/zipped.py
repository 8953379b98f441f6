"""Owns exports as one zip file: a folder of files for each page, and a page that lists them."""

import html
import json
import os
from collections.abc import Sequence

from archivebox.export.lists import PAGE_END, PAGE_HEAD
from archivebox.export.pages import ExportedPage
from archivebox.export.writer import Failures, Writer
from archivebox.export.zip_parts import DIRECTORY, ZipPart, end_zip, zip_part

FACTS = "page.json"
INDEX = "index.html"


class ZipWriter(Writer):
    """All files of each page; the list of pages grows beside the zip file, and comes into it at the end."""

    beside = (DIRECTORY, INDEX)

    def append(self, pages: Sequence[ExportedPage]) -> Failures:
        if not self.files[INDEX].tell():
            self.files[INDEX].write(PAGE_HEAD)
        with zip_part(self.files) as part:
            found = {page.snapshot.pk: self._append(page, part) for page in pages}
        return {key: problem for key, problem in found.items() if problem}

    def _append(self, page: ExportedPage, part: ZipPart) -> str:
        folder, names = folder_of(page), page.files()
        for name in names:
            part.add_file(page.folder / name, f"{folder}/{name_of(name)}")
        record = page.record()
        part.add_bytes(json.dumps(record, ensure_ascii=False, indent=1).encode("utf-8", "replace"), f"{folder}/{FACTS}")
        self.files[INDEX].write(_line(folder, page).encode("utf-8", "replace"))
        return "" if names else "It has no files: nothing was kept."

    def write_end(self) -> None:
        index = self.files[INDEX]
        index.write(PAGE_END)
        index.seek(0)
        with zip_part(self.files) as part:
            part.add(index, INDEX)
        end_zip(self.files)


def name_of(path: str) -> str:
    """A file's path as it stands in the zip: any bytes may be in its name, and Windows parts folders by a backslash."""
    return os.fsencode(path).decode("utf-8", "replace").replace("\\", "_")


def folder_of(page: ExportedPage) -> str:
    """At most 122 bytes, of the 255 that a name may have, since Windows allows 260 for a whole path."""
    one = page.snapshot
    return f"{one.created_at:%Y%m%d}-{one.domain[:100]}-{str(one.pk)[-12:]}"


def _line(folder: str, page: ExportedPage) -> str:
    one = page.snapshot
    about = f"{html.escape(one.url)}, {one.created_at:%Y-%m-%d}"
    shown = html.escape(one.title or one.url)
    return f'<li><a dir="auto" href="{html.escape(folder)}/">{shown}</a><small>{about}</small>\n'
