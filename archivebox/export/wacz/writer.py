"""Owns the WACZ itself: WARC files, their index, the list of pages, and what says the SHA-256 of each."""

import json
import os
from collections.abc import Sequence

from django.utils import timezone

from archivebox import __version__
from archivebox.export.expanded_records import EXPANDED, whole_recordings
from archivebox.export.pages import ExportedPage
from archivebox.export.wacz.index import CDX, IDX, lines_of, recorded_at, write_index
from archivebox.export.writer import Failures, Writer
from archivebox.export.zip_parts import DIRECTORY, ZipMember, ZipPart, end_zip, zip_part
from archivebox.lib import jsonl

VERSION = "1.1.1"
MOST_TEXT = 64 * 1024
"""Bytes of a page's text that its line has, by which replay programs search."""
NO_RECORDING = "It has no WARC file: no plugin kept one."
PACKAGE, DIGEST = "datapackage.json", "datapackage-digest.json"
PAGES, EXTRA_PAGES, LINES, RESOURCES = "pages.jsonl", "extraPages.jsonl", "cdxj", "resources"


class WaczWriter(Writer):
    """Pages that were asked for are in pages.jsonl, those that a crawl found by their links in extraPages.jsonl."""

    beside = (DIRECTORY, PAGES, EXTRA_PAGES, LINES, RESOURCES, CDX, IDX, PACKAGE, EXPANDED)

    def append(self, pages: Sequence[ExportedPage]) -> Failures:
        with zip_part(self.files) as part:
            return {page.snapshot.pk: NO_RECORDING for page in pages if not self._add(page, part)}

    def _add(self, page: ExportedPage, part: ZipPart) -> bool:
        """Whether there was a recording."""
        recordings, lines = page.recordings(), list[bytes]()
        for number, path in enumerate(whole_recordings(recordings, self.files)):
            name = f"{page.snapshot.pk}-{number}.warc.gz"
            if member := part.add_file(path, f"archive/{name}"):
                self._note(member)
                lines += lines_of(path, name, member.size)
        self.files[LINES].writelines(lines)
        if recordings:
            self._add_page(page, recorded_at(page.snapshot.url, lines))
        return bool(recordings)

    def _add_page(self, page: ExportedPage, recorded: str) -> None:
        one = page.snapshot
        name = EXTRA_PAGES if one.depth else PAGES
        if not self.files[name].tell():
            title = "Pages found by links" if one.depth else "Pages"
            self.files[name].write(jsonl.dumps({"format": "json-pages-1.0", "id": "pages", "title": title}))
        moment = recorded or one.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        about = {"id": str(one.pk), "url": one.url, "ts": moment, "title": one.title or one.url}
        self.files[name].write(jsonl.dumps(about | {"text": page.text(MOST_TEXT)}))

    def _note(self, member: ZipMember) -> None:
        """Have the package list it."""
        name = member.name.rpartition("/")[2].lower()
        about = {"name": name, "path": member.name, "hash": f"sha256:{member.sha256}", "bytes": member.size}
        self.files[RESOURCES].write(jsonl.dumps(about))

    def write_end(self) -> None:
        files = self.files
        if not files[PAGES].tell():
            files[PAGES].write(jsonl.dumps({"format": "json-pages-1.0", "id": "pages", "title": "Pages"}))
        write_index(files[LINES], files[CDX], files[IDX])
        with zip_part(files) as part:
            lists = [PAGES, *([EXTRA_PAGES] if files[EXTRA_PAGES].tell() else [])]
            for place, names in (("indexes", (CDX, IDX)), ("pages", lists)):
                for name in names:
                    self._note(part.add(files[name], f"{place}/{name}"))
            self._write_package()
            package = part.add(files[PACKAGE], PACKAGE)
            digest = {"path": PACKAGE, "hash": f"sha256:{package.sha256}"}
            part.add_bytes(json.dumps(digest).encode(), DIGEST)
        end_zip(files)

    def _write_package(self) -> None:
        """Line by line: there is one for each recording."""
        package, resources = self.files[PACKAGE], self.files[RESOURCES]
        about = {"profile": "data-package", "wacz_version": VERSION, "title": "Pages archived by ArchiveBox"}
        about |= {"created": f"{timezone.now():%Y-%m-%dT%H:%M:%SZ}", "software": f"ArchiveBox {__version__}"}
        package.write(json.dumps(about).encode()[:-1] + b', "resources": [\n')
        resources.seek(0)
        for number, line in enumerate(resources):
            package.write((b",\n" if number else b"") + line.rstrip())
        package.write(b"\n]}\n")
        resources.seek(0, os.SEEK_END)
