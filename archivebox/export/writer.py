"""Owns how an export is written: part after part, into files that only grow, so that any process can go on."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, ClassVar
from uuid import UUID

from archivebox.core.evidence.verification import DigestCache, damage_of
from archivebox.export.pages import ExportedPage
from archivebox.lib.files import locked

Failures = dict[UUID, str]
Lengths = Mapping[str, int]
"""File of an export → its bytes that are whole; the one without a name becomes the export."""


class PartFiles:
    """The file that becomes the export, and those beside it of which its end is made."""

    def __init__(self, path: Path, *beside: str) -> None:
        self._paths = {"": path} | {name: path.with_name(f"{path.name}.{name}") for name in beside}
        self._open: dict[str, BinaryIO] = {}
        self._held = ExitStack()

    def __getitem__(self, name: str) -> BinaryIO:
        """Open, where its reader or writer has left it; at its end when it was just opened."""
        if name not in self._open:
            self._paths[name].touch(mode=0o600)
            self._open[name] = file = self._paths[name].open("r+b")
            file.seek(0, os.SEEK_END)
        return self._open[name]

    def lock(self) -> bool:
        """Keep other processes from writing; False while one whose lease has run out has yet to notice that."""
        return self._held.enter_context(locked(self._paths[""], blocking=False)) is not None

    @property
    def lengths(self) -> dict[str, int]:
        return {name: self[name].seek(0, os.SEEK_END) for name in self._paths}

    def have_lengths(self, lengths: Lengths) -> bool:
        """Whether so much was written."""
        sizes = {name: path.stat().st_size if path.exists() else 0 for name, path in self._paths.items()}
        return all(sizes.get(name, 0) >= length for name, length in lengths.items())

    def truncate_to(self, lengths: Lengths) -> None:
        """Forget what was written behind these; all of those that are not named."""
        for name in self._paths:
            length = lengths.get(name, 0)
            self[name].truncate(length)
            self[name].seek(length)

    def remove(self) -> None:
        """Delete them all."""
        for path in self._paths.values():
            path.unlink(missing_ok=True)

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()
        self._held.close()


class Writer(ABC):
    """Writes one export. Between two parts it may be closed, and another process may go on."""

    beside: ClassVar[tuple[str, ...]] = ()
    """Names of the files that it needs besides."""
    holds_files: ClassVar[bool] = True
    """Whether files of pages are in it, and not only what is known of them."""

    def __init__(self, path: Path) -> None:
        self.files = PartFiles(path, *self.beside)
        self._digests = DigestCache()

    def add(self, pages: Sequence[ExportedPage]) -> tuple[Failures, bool]:
        """Write these; what is wrong with some, and whether any is in the export.

        A page that is not as it was archived is in it as far as it is there.
        """
        found = self.append(pages)
        has_written = len(pages) > len(found)
        if self.holds_files:
            damage = damage_of((page.snapshot for page in pages), self._digests)
            found |= {key: f"It is not as it was archived. {what}" for key, what in damage.items()}
        return found, has_written

    @abstractmethod
    def append(self, pages: Sequence[ExportedPage]) -> Failures:
        """Write these; why that could not be done for some."""

    def finish(self) -> None:
        """All pages are there: write the end, and have it survive a power cut. It may be done twice."""
        self.write_end()
        self.files[""].flush()
        os.fsync(self.files[""].fileno())

    @abstractmethod
    def write_end(self) -> None:
        """What comes behind the last page."""

    def close(self) -> None:
        self.files.close()


class StreamWriter(Writer):
    """A format of which each page is some bytes, one behind the other."""

    holds_files = False

    def append(self, pages: Sequence[ExportedPage]) -> Failures:
        file = self.files[""]
        if not file.tell():
            file.write(self.header())
        found = {page.snapshot.pk: self.write_page(page, file) for page in pages}
        return {key: problem for key, problem in found.items() if problem}

    def header(self) -> bytes:
        return b""

    @abstractmethod
    def write_page(self, page: ExportedPage, file: BinaryIO) -> str:
        """Write one page; why that could not be done."""

    def write_end(self) -> None:
        self.files[""].write(self.footer())

    def footer(self) -> bytes:
        return b""
