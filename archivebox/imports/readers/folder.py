"""Reads folders of archives and saved pages, whatever is in them: each file by the reader that knows it."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from archivebox.imports.document import DocumentReader
from archivebox.imports.page import (
    ImportedPage,
    InterruptibleReader,
    NotImported,
    NotReadableError,
    Reader,
    SourceReport,
)
from archivebox.imports.readers import har, mhtml, single_file, wacz, warc
from archivebox.imports.readers.saved_page import NO_URL, SavedPages
from archivebox.imports.scratch import Scratch

FILES_MOST = 1_000_000
_ARCHIVES = (*warc.ENDINGS, *mhtml.ENDINGS, ".wacz", ".har")
_BESIDE = re.compile(
    r"(.+)[_.-](?:files|Dateien|fichiers|archivos|bestanden|filer|pliki|ficheiros|file)", re.IGNORECASE
)
"""The folder in which browsers save what a page shows, as they name it in some languages."""


class SavedFolder(InterruptibleReader):
    """What lies below one folder; files that are part of a page are no pages themselves."""

    def __init__(self, root: Path, only: Path | None = None) -> None:
        """``only``: the one file of it that is a page."""
        self._root = root = root.resolve()
        self._only = only
        self._scratch, self._documents = Scratch(), DocumentReader()
        self._saved = SavedPages(root, self._scratch, self._documents, _folders_beside(only) if only else None)
        self._files: list[Path] | None = None
        self._pages: list[Path] | None = None
        self._failed: dict[Path, str] = {}
        self._readers: dict[str, Reader] = {}

    @property
    def has_files(self) -> bool:
        return bool(self._list())

    def report(self) -> SourceReport:
        reports = [reader.report() for _, reader in self._all_readers()]
        pages = self._html_files()
        size = sum(path.stat().st_size for path in pages) + sum(one.size for one in reports)
        problems = [problem for one in reports for problem in one.not_imported]
        problems += [NotImported(self._key(path), reason) for path, reason in self._failed.items()]
        count = sum(one.pages for one in reports) + len(pages)
        kind = "saved page" if self._only else "folder of saved pages"
        return SourceReport(kind, count, len(pages) + sum(one.files for one in reports), size, tuple(problems))

    def pages(self, after: str = "") -> Iterator[ImportedPage | NotImported]:
        """Those of archives first; a key is the file's, and that of the page in it."""
        name, _, inner = after.partition("\n")
        is_behind = not after
        for key, reader in self._all_readers():
            if is_behind or key == name:
                yield from _named(key, reader.pages(inner if key == name else ""))
            is_behind = is_behind or key == name
        for path in self._html_files():
            key = self._key(path)
            if is_behind:
                yield self._saved.page(path, key)
            is_behind = is_behind or key == after
        if not after:
            yield from (NotImported(self._key(path), reason) for path, reason in self._failed.items())

    def _all_readers(self) -> Iterator[tuple[str, Reader]]:
        """WARCs together, because a record may speak of a body that is in another; then each other file."""
        files = self._list()
        if not self._readers:
            if warcs := [path for path in files if path.name.lower().endswith(warc.ENDINGS)]:
                self._try(warcs[0], "*.warc", lambda: warc.warc_reader(warcs))
            for path in files:
                opener = _opener_of(path)
                if opener is not None:
                    self._try(path, self._key(path), lambda path=path, opener=opener: opener(path))  # type: ignore[misc]
        yield from self._readers.items()

    def _try(self, path: Path, key: str, make: Callable[[], Reader | None]) -> None:
        try:
            reader = make()
            if reader is not None:
                if isinstance(reader, InterruptibleReader):
                    reader.stop = self.stop
                reader.report()
                self._readers[key] = reader
        except NotReadableError as error:
            self._failed[path] = str(error)

    def _html_files(self) -> list[Path]:
        if self._pages is None:
            self._pages = list(self._find_pages([self._only] if self._only else filter(_is_saved_page, self._list())))
        return self._pages

    def _find_pages(self, candidates: Iterable[Path]) -> Iterator[Path]:
        """Those that no other page shows within it, and whose URL is known."""
        urls, shown = dict[Path, str](), set[Path]()
        for path in candidates:
            self.stop()
            urls[path], frames = self._saved.url_and_frames(path)
            shown.update(frames)
        for path, url in urls.items():
            if path.resolve() in shown:
                continue
            if url:
                yield path
            else:
                self._failed[path] = NO_URL

    def _list(self) -> list[Path]:
        """All files whose names say that a reader may know them, in one order; nothing that a link leads to."""
        if self._files is None:
            found: list[Path] = []
            if self._only is None:
                for folder, folders, names in os.walk(self._root):
                    folders.sort()
                    beside = {name for name in folders if _is_beside(name, names)}
                    folders[:] = [name for name in folders if name not in beside and not name.startswith(".")]
                    found += [Path(folder, name) for name in sorted(names) if _is_known(name)]
                    if len(found) > FILES_MOST:
                        raise NotReadableError(f"{self._root} has more than {FILES_MOST:,} files that could be pages.")
            self._files = [path for path in found if path.is_file() and not path.is_symlink()]
        return self._files

    def _key(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()


def open_folder(path: Path) -> SavedFolder | None:
    """None for a folder in which nothing could be a page, and for a collection, whose files are not for people."""
    if not path.is_dir() or (path / "index.sqlite3").exists():
        return None
    folder = SavedFolder(path)
    return folder if folder.has_files else None


def open_saved_page(path: Path) -> SavedFolder | None:
    """One HTML file, with what lies beside it."""
    if not (path.is_file() and path.name.lower().endswith(single_file.ENDINGS)):
        return None
    path = path.resolve()
    return SavedFolder(path.parent, path)


def _is_known(name: str) -> bool:
    return not name.startswith(".") and name.lower().endswith((*_ARCHIVES, *single_file.ENDINGS))


def _folders_beside(page: Path) -> list[Path]:
    """Those that hold what it shows. Whatever else lies where people save pages is not for a stranger's page."""
    return [one for one in page.parent.iterdir() if one.is_dir() and _is_beside(one.name, [page.name])]


def _is_beside(name: str, files: list[str]) -> bool:
    """Whether a folder holds what one of the pages beside it shows."""
    found = _BESIDE.fullmatch(name)
    return bool(found) and any(f"{found[1]}{ending}" in files for ending in single_file.ENDINGS)  # type: ignore[index]


def _is_saved_page(path: Path) -> bool:
    return path.name.lower().endswith(single_file.ENDINGS) and not single_file.read_comment(path)


def _opener_of(path: Path) -> Callable[[Path], Reader | None] | None:
    name = path.name.lower()
    if name.endswith(".wacz"):
        return wacz.open_wacz
    if name.endswith(".har"):
        return har.open_har
    if name.endswith(mhtml.ENDINGS):
        return mhtml.open_mhtml
    return single_file.open_single_file if name.endswith(single_file.ENDINGS) else None


def _named(key: str, items: Iterator[ImportedPage | NotImported]) -> Iterator[ImportedPage | NotImported]:
    """The same with the key of the file before that of the page."""
    for item in items:
        if isinstance(item, ImportedPage):
            yield replace(item, key=f"{key}\n{item.key}")
        else:
            named = item.item if key in item.item else f"{key}: {item.item}"
            yield replace(item, item=named, key=item.key and f"{key}\n{item.key}")
