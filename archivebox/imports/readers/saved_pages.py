"""Reads HTML files that browsers, SingleFile or wget have saved, and folders of these and of other archives."""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import unquote, urlsplit

from archivebox.contract.outcomes import Status
from archivebox.imports.answers import ArchivedAnswer, PageRecording, as_utc, fill_body, kind_of, text_outputs
from archivebox.imports.document import DOCUMENT_MOST, DocumentContent, DocumentReader, join_url
from archivebox.imports.import_folder import Scratch
from archivebox.imports.page import (
    ImportedFile,
    ImportedOutput,
    ImportedPage,
    InterruptibleReader,
    NotImported,
    NotReadableError,
    Reader,
    SourceReport,
)
from archivebox.imports.readers import har, mhtml, warc
from archivebox.imports.readers.warc_index import plain_url

ENDINGS = (".html", ".htm", ".xhtml")
HEAD = 1 << 16
"""Bytes in which the comments stand that say of which page a file is."""
FILE = "singlefile.html"
_COMMENT = re.compile(rb"<!--\s{0,20}Page saved with SingleFile\s{0,20}(.{0,8000}?)-->", re.DOTALL)
_URL = re.compile(r"^\s*url:\s*(\S+)", re.MULTILINE)
_DATE = re.compile(r"^\s*saved date:\s*\w{3} (\w{3} \d{1,2} \d{4} [\d:]{8} GMT[+-]\d{4})", re.MULTILINE)


class SingleFilePage:
    """The one page of a file. ``url``, ``captured_at``: where somebody else knows them better than its comment."""

    def __init__(self, path: Path, url: str = "", captured_at: datetime | None = None) -> None:
        self._path = path
        comment = read_comment(path)
        self._url = plain_url(url) or url_in(comment)
        self._date = captured_at or date_in(comment) or datetime.fromtimestamp(path.stat().st_mtime, UTC)
        self._scratch: Scratch | None = None

    def report(self) -> SourceReport:
        return SourceReport("page saved by SingleFile", 1, 1, self._path.stat().st_size)

    def pages(self, after: str = "") -> Iterator[ImportedPage | NotImported]:
        if after:
            return
        if not self._url:
            yield NotImported(self._path.name, "It does not have the URL of its page.", self._path.name)
            return
        self._scratch = self._scratch or Scratch()
        folder = self._scratch.page_folder()
        content = self._read()
        file = ImportedFile(FILE, str(self._path))
        output = ImportedOutput("singlefile", Status.SUCCEEDED, (file,), FILE, self._date, self._date)
        yield ImportedPage(
            key=self._path.name, url=self._url, captured_at=self._date, title=content.title, mime_type="text/html",
            outputs=(output, *text_outputs(folder, content, "text/html")),
            done=partial(self._scratch.remove, folder),
        )  # fmt: skip

    def _read(self) -> DocumentContent:
        with self._path.open("rb") as file, DocumentReader() as documents:
            return documents.read(file.read(DOCUMENT_MOST), self._url, "text/html", "text/html; charset=utf-8")


def open_single_file(path: Path) -> SingleFilePage | None:
    is_saved = path.is_file() and path.name.lower().endswith(ENDINGS) and read_comment(path)
    return SingleFilePage(path) if is_saved else None


def read_comment(path: Path) -> str:
    """What SingleFile says of the page; empty where it has not saved it."""
    with path.open("rb") as file:
        found = _COMMENT.search(file.read(HEAD))
    return found[1].decode("utf-8", "replace") if found else ""


def url_in(comment: str) -> str:
    found = _URL.search(comment)
    return plain_url(found[1]) if found else ""


def date_in(comment: str) -> datetime | None:
    """The moment as JavaScript writes it, without the name of its zone."""
    found = _DATE.search(comment)
    try:
        return as_utc(datetime.strptime(found[1], "%b %d %Y %H:%M:%S GMT%z")) if found else None
    except (ValueError, OverflowError):
        return None


# --- pages that browsers and wget saved -------------------------------------------------------------------------------
_SCAN_MOST = 4 << 20
"""Bytes of a file in which its frames, and what it names, are looked for."""
PAGE_FILES_MOST = 10_000
SIZE_MOST = 2_000_000_000
_SAVED_FROM = re.compile(rb"<!--\s{0,20}saved from url=\(\d{1,9}\)\s{0,20}(\S{1,4000}?)\s{0,20}-->", re.IGNORECASE)
"""What browsers write into a page that they save (the mark of the web)."""
_HOST = re.compile(
    r"(?:[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,24}|\d{1,3}(?:\.\d{1,3}){3})(?:[:+]\d{1,5})?", re.IGNORECASE
)
_FILE_ENDINGS = frozenset(
    {"html", "htm", "xhtml", "pdf", "txt", "css", "js", "zip", "json", "png", "jpg", "gif", "svg"}
)
_INDEX = re.compile(r"(?:^|(?<=/))index\.html?$")
NO_URL = (
    "Its URL is unknown: it contains neither the URL it was saved from nor a canonical link, and is "
    "not in a folder named after a host."
)
_KIND = "saved page"
_LEVELS = 3


class SavedPages:
    """Pages below one folder. ``within``: the folders of it whose files they may show, if not all."""

    def __init__(
        self, root: Path, scratch: Scratch, documents: DocumentReader, within: Sequence[Path] | None = None
    ) -> None:
        self._root = root.resolve()
        self._within = [self._root] if within is None else [folder.resolve() for folder in within]
        self._scratch, self._documents = scratch, documents

    def url_and_frames(self, path: Path) -> tuple[str, list[Path]]:
        """The URL of the page in a file, if it is known, and the other files that it shows within it."""
        head = _head(path, _SCAN_MOST)
        content = self._documents.read(head, path.as_uri(), "text/html", with_text=False)
        found = [self._file_at(join_url(path.as_uri(), name)) for name in content.frames]
        return self._url_of(path, head[:HEAD], content), [one for one in found if one and one != path.resolve()]

    def page(self, path: Path, key: str) -> ImportedPage | NotImported:
        """The page in the file at ``path``, with what it shows of what lies below the folder."""
        data = _head(path, DOCUMENT_MOST)
        content = self._documents.read(data, path.as_uri(), "text/html")
        url = self._url_of(path, data[:HEAD], content)
        if not url:
            return NotImported(key, NO_URL, key)
        date = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        folder = self._scratch.page_folder()
        recording = PageRecording(folder / "warc", date, _KIND)
        self._add(recording, path, url, is_main=True)
        base = join_url(url, content.base) if content.base != path.as_uri() else url
        self._add_named(recording, path, content, base or url)
        outputs = (*recording.close(), *text_outputs(folder, content, "text/html"))
        return ImportedPage(
            key=key, url=url, captured_at=date, title=content.title, http_status=200, mime_type="text/html",
            outputs=outputs, done=partial(self._scratch.remove, folder),
        )  # fmt: skip

    def _add_named(self, recording: PageRecording, page: Path, content: DocumentContent, base: str) -> None:
        """What the page names, and what is named in its style sheets and frames."""
        added = {base}
        waiting = [(page, name, base) for name in content.names]
        for _ in range(_LEVELS):
            following: list[tuple[Path, str, str]] = []
            for path, name, base_url in waiting:
                url = plain_url(join_url(base_url, name))
                found = self._file_at(join_url(path.as_uri(), name)) or self._mirrored(url)
                if found is None or not url or url in added or recording.size > SIZE_MOST:
                    continue
                added.add(url)
                mime = self._add(recording, found, url)
                if mime in {"text/html", "text/css"} and recording.count < PAGE_FILES_MOST:
                    inside = self._documents.read(_head(found, _SCAN_MOST), found.as_uri(), mime)
                    following += [(found, each, url) for each in inside.names]
            waiting = following

    @staticmethod
    def _add(recording: PageRecording, path: Path, url: str, *, is_main: bool = False) -> str:
        mime = "text/html" if is_main else guess_type(path.name, strict=False)[0] or "application/octet-stream"
        date = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        answer = ArchivedAnswer(url, date, headers=[("Content-Type", mime)], is_main=is_main)
        answer.kind = "Document" if is_main else kind_of(mime)
        with path.open("rb") as file:
            fill_body(answer, file)
        recording.add(answer)
        return mime

    # --- URLs and files -----------------------------------------------------------------------------------------

    def _url_of(self, path: Path, head: bytes, content: DocumentContent) -> str:
        """Where a page was on the web; empty where that is not known."""
        saved_from = _SAVED_FROM.search(head)
        if saved_from and (url := plain_url(saved_from[1].decode("utf-8", "replace"))):
            return url
        mirrored, canonical = self._mirrored_url(path), plain_url(content.canonical)
        if mirrored and (not canonical or urlsplit(canonical).hostname != urlsplit(mirrored).hostname):
            return mirrored
        return canonical

    def _mirrored_url(self, path: Path) -> str:
        """By the folders of a mirror of wget: `host/path`, or `scheme/host/path`; where no scheme is named, https,
        but http for numbers: an address, or a port.
        """
        parts = path.relative_to(self._root).parts
        if self._is_host(self._root.name) and not any(map(self._is_host, parts[:2])):
            parts = (self._root.name, *parts)
        named, parts = (parts[0], parts[1:]) if parts[0] in {"http", "https"} else ("", parts)
        if len(parts) < 2 or not self._is_host(parts[0]):
            return ""
        scheme = named or ("https" if parts[0][-1].isalpha() else "http")
        host, name = parts[0].replace("+", ":"), "/".join(parts[1:])
        return plain_url(f"{scheme}://{host}/{_INDEX.sub('', name)}")

    @staticmethod
    def _is_host(name: str) -> bool:
        return bool(_HOST.fullmatch(name)) and name.rpartition(".")[2].lower() not in _FILE_ENDINGS

    def _mirrored(self, url: str) -> Path | None:
        """The file of a mirror in which a URL lies."""
        parts = urlsplit(url)
        if not parts.hostname:
            return None
        base = self._root.parent if self._root.name == parts.hostname else self._root
        name = unquote(parts.path).lstrip("/") + (f"?{parts.query}" if parts.query else "")
        name = f"{name}index.html" if not name or name.endswith("/") else name
        return self._below(base / parts.hostname / name)

    def _file_at(self, url: str) -> Path | None:
        """The file that a URL of the scheme `file` names, where the page may show it."""
        if not url.startswith("file:///"):
            return None
        parts = urlsplit(url)
        query = f"?{unquote(parts.query)}" if parts.query else ""
        path = unquote(parts.path)
        return self._below(Path(path + query)) or self._below(Path(path))

    def _below(self, path: Path) -> Path | None:
        """None for what is no regular file of those that may be shown, whatever way the path takes."""
        try:
            resolved = path.resolve()
            is_file = stat.S_ISREG(resolved.lstat().st_mode)
        except (OSError, ValueError, RuntimeError):
            return None
        return resolved if is_file and any(map(resolved.is_relative_to, self._within)) else None


def _head(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most)


# --- folders ----------------------------------------------------------------------------------------------------------
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
    if not (path.is_file() and path.name.lower().endswith(ENDINGS)):
        return None
    path = path.resolve()
    return SavedFolder(path.parent, path)


def _is_known(name: str) -> bool:
    return not name.startswith(".") and name.lower().endswith((*_ARCHIVES, *ENDINGS))


def _folders_beside(page: Path) -> list[Path]:
    """Those that hold what it shows. Whatever else lies where people save pages is not for a stranger's page."""
    return [one for one in page.parent.iterdir() if one.is_dir() and _is_beside(one.name, [page.name])]


def _is_beside(name: str, files: list[str]) -> bool:
    """Whether a folder holds what one of the pages beside it shows."""
    found = _BESIDE.fullmatch(name)
    return bool(found) and any(f"{found[1]}{ending}" in files for ending in ENDINGS)  # type: ignore[index]


def _is_saved_page(path: Path) -> bool:
    return path.name.lower().endswith(ENDINGS) and not read_comment(path)


def _opener_of(path: Path) -> Callable[[Path], Reader | None] | None:
    name = path.name.lower()
    if name.endswith(".wacz"):
        return warc.open_wacz
    if name.endswith(".har"):
        return har.open_har
    if name.endswith(mhtml.ENDINGS):
        return mhtml.open_mhtml
    return open_single_file if name.endswith(ENDINGS) else None


def _named(key: str, items: Iterator[ImportedPage | NotImported]) -> Iterator[ImportedPage | NotImported]:
    """The same with the key of the file before that of the page."""
    for item in items:
        if isinstance(item, ImportedPage):
            yield replace(item, key=f"{key}\n{item.key}")
        else:
            named = item.item if key in item.item else f"{key}: {item.item}"
            yield replace(item, item=named, key=item.key and f"{key}\n{item.key}")
