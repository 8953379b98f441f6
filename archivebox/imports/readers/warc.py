"""Reads WARC files (ISO 28500), packed or not: their pages, with what belongs to each."""

from collections.abc import Sequence
from pathlib import Path

from archivebox.imports.readers.archive_pages import ArchivePages
from archivebox.imports.readers.warc_records import WarcSource
from archivebox.imports.scratch import Scratch

ENDINGS = (".warc", ".warc.gz")


def warc_reader(paths: Sequence[Path]) -> ArchivePages:
    """One reader of several files, because a record may speak of a body that is in another."""
    sources = [WarcSource(path.name, path.stat().st_size, lambda path=path: path.open("rb")) for path in paths]  # type: ignore[misc]  # bound now
    since = min(path.stat().st_mtime for path in paths)
    kind = "WARC file" if len(paths) == 1 else "WARC files"
    return ArchivePages(kind, lambda _stop: sources, Scratch(), since)


def open_warc(path: Path) -> ArchivePages | None:
    return warc_reader([path]) if path.is_file() and path.name.lower().endswith(ENDINGS) else None
