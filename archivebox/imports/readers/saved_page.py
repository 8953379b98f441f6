"""Reads HTML files with what lies beside them: pages that browsers saved (with "page_files"), mirrors of wget."""

import re
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import unquote, urlsplit

from archivebox.imports.answer import ArchivedAnswer, fill_body, kind_of
from archivebox.imports.document import DOCUMENT_MOST, DocumentContent, DocumentReader, join_url
from archivebox.imports.page import ImportedPage, NotImported
from archivebox.imports.readers.warc_index import plain_url
from archivebox.imports.recording import PageRecording, text_outputs
from archivebox.imports.scratch import Scratch

HEAD = 1 << 16
_SCAN_MOST = 4 << 20
"""Bytes of a file in which its frames, and what it names, are looked for."""
FILES_MOST = 10_000
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
                if mime in {"text/html", "text/css"} and recording.count < FILES_MOST:
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
