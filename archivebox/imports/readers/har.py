"""Reads HAR files (HTTP Archive 1.2), as browsers and test tools save them with the content of the answers."""

import base64
import binascii
import codecs
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

from archivebox.imports.answers import Headers, header_of, parse_date
from archivebox.imports.import_folder import Scratch
from archivebox.imports.page import NotImported, NotReadableError, Stop
from archivebox.imports.readers.warc import ArchivePages
from archivebox.imports.readers.warc_index import WarcIndex, WarcSource, plain_url
from archivebox.imports.readers.warc_pages import insert_page
from archivebox.lib.mime_sniffing import parse_content_type
from archivebox.plugins.base.warc_file import WarcWriter, moment, new_record_id

_READ = 1 << 20
_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


class JsonStream:
    """Stands at one place of a document; ValueError where that is not JSON, or a value is larger than it may be."""

    def __init__(self, file: BinaryIO, value_most: int) -> None:
        """``value_most``: characters of one value that is read as a whole."""
        self._file, self._most = file, value_most
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._at = 0
        self._is_at_end = False

    def keys(self) -> Iterator[str]:
        """The names in the object that begins here, each while the stream stands at its value; take it, or `skip`."""
        self._expect("{")
        if self._took("}"):
            return
        while True:
            name = self.value()
            if not isinstance(name, str):
                raise ValueError("a name that is not text")  # noqa: TRY004 - of the document, not of a program
            self._expect(":")
            yield name
            if not self._took(","):
                self._expect("}")
                return

    def items(self) -> Iterator[object]:
        """The values of the array that begins here."""
        self._expect("[")
        if self._took("]"):
            return
        while True:
            yield self.value()
            if not self._took(","):
                self._expect("]")
                return

    def value(self) -> object:
        """The value that begins here."""
        self._next()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise ValueError("it is nested too deeply") from None
            except ValueError:
                if not self._more():
                    raise
                continue
            if end == len(self._text) and self._more():  # a number may go on
                continue
            self._at = end
            return found

    def _next(self) -> str:
        """The character that follows the space here; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _took(self, mark: str) -> bool:
        if self._next() != mark:
            return False
        self._at += 1
        return True

    def _expect(self, mark: str) -> None:
        if not self._took(mark):
            raise ValueError(f"{mark} is missing")

    def _more(self) -> bool:
        """Read on: as much again as is there, so that a value is tried few times."""
        if self._is_at_end:
            return False
        left = self._text[self._at :]
        if len(left) > self._most:
            raise ValueError(f"a value in it has more than {self._most // 1_000_000} MB")
        data = self._file.read(max(_READ, len(left)))
        self._is_at_end = not data
        self._text, self._at = left + self._decode.decode(data, final=not data), 0
        return bool(data)


# --- the reader -------------------------------------------------------------------------------------------------------
ENTRY_MOST = 256_000_000
"""Characters of one answer in the file."""
_CODINGS = frozenset({"content-encoding", "transfer-encoding", "content-length"})
"""Headers of a body as it came: a HAR has it decoded."""
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token (RFC 9110, 5.6.2)."""
_NO_CONTENT = "The file has no content of this page: save it again with the content of the answers."
_ANSWERED = "page = ? AND location = '' AND status = 200 AND method = 'GET'"
_DOCUMENTS = f"{_ANSWERED} AND destination = 'document' ORDER BY time, id"
_FIRST = f"{_ANSWERED} AND (mime LIKE '%html%' OR url = ?) ORDER BY time LIMIT 1"


@dataclass
class _Converted:
    """What was found while a HAR was made a WARC."""

    pages: dict[str, str] = field(default_factory=dict)
    """Titles, by the name of the page."""
    documents: dict[str, str] = field(default_factory=dict)
    """What was asked for first, by the name of the page."""
    problems: list[NotImported] = field(default_factory=list)


def open_har(path: Path) -> ArchivePages | None:
    """Its reader, which raises NotReadableError where the file is not a HAR file."""
    if not (path.is_file() and path.name.lower().endswith(".har")):
        return None
    scratch, converted = Scratch(), _Converted()
    return ArchivePages(
        "HAR file", partial(_open_source, path, scratch.path / "har.warc", converted), scratch, path.stat().st_mtime,
        partial(_list_pages, converted),
    )  # fmt: skip


def _open_source(path: Path, target: Path, converted: _Converted, stop: Stop) -> list[WarcSource]:
    try:
        _convert(path, target, converted, stop)
    except ValueError as error:
        raise NotReadableError(f"{path} cannot be read as a HAR: {error}.") from None
    return [WarcSource(path.name, target.stat().st_size, lambda: target.open("rb"))]


def _list_pages(converted: _Converted, index: WarcIndex, stop: Stop) -> bool:
    """The pages that the HAR lists; whether it lists any."""
    index.database.executemany(
        "INSERT INTO damage VALUES (?, ?)", [(one.item, one.reason) for one in converted.problems]
    )
    index.database.execute("BEGIN")
    for name, title in converted.pages.items():
        stop()
        url = plain_url(converted.documents.get(name, ""))
        documents = list(index.answers(_DOCUMENTS, name)) or list(index.answers(_FIRST, name, url))
        for number, answer in enumerate(documents):
            is_only = len(documents) == 1 and not title.startswith(("http://", "https://"))
            key = f"{name}:{number}" if number else name
            insert_page(index, key, answer, url if number == 0 else "", title if is_only else "")
        if url and not documents:
            row = (name, url, _NO_CONTENT)
            index.database.execute("INSERT OR IGNORE INTO page (key, url, problem) VALUES (?, ?, ?)", row)
    index.database.execute("COMMIT")
    return bool(converted.documents)


def _convert(path: Path, target: Path, converted: _Converted, stop: Stop) -> None:
    """Write the answers of a HAR as a WARC; ValueError where it is none."""
    writer = WarcWriter(str(target))
    try:
        with path.open("rb") as file:
            for entry in _entries(file, converted):
                stop()
                _write(writer, entry, converted)
    finally:
        writer.close()


def _entries(file: BinaryIO, converted: _Converted) -> Iterator[dict[str, object]]:
    stream = JsonStream(file, ENTRY_MOST)
    is_har = False
    for name in stream.keys():  # noqa: SIM118 - a method, and not a dictionary's
        if name != "log":
            stream.value()
            continue
        for part in stream.keys():  # noqa: SIM118
            if part == "entries":
                is_har = True
                yield from (entry for entry in stream.items() if isinstance(entry, dict))
            elif part == "pages":
                pages = (page for page in stream.items() if isinstance(page, dict))
                converted.pages = {_text(page, "id"): _text(page, "title") for page in pages}
            else:
                stream.value()
    if not is_har:
        raise ValueError("it lists no requests (log.entries)")


def _write(writer: WarcWriter, entry: dict[str, object], converted: _Converted) -> None:
    request, response, page = _part(entry, "request"), _part(entry, "response"), _text(entry, "pageref")
    url, status = _text(request, "url"), response.get("status")
    if not plain_url(url) or not isinstance(status, int) or not 100 <= status <= 599:
        return
    if page:
        converted.documents.setdefault(page, url)
    content = _part(response, "content")
    headers = _headers(response)
    try:
        body, headers = _body(content, headers)
    except (ValueError, binascii.Error):
        converted.problems.append(NotImported(url[:200], "Its content is not base64, as the file says that it is."))
        return
    if body is None and status == 200:
        return
    identifier = new_record_id()
    date = parse_date(_text(entry, "startedDateTime"))
    fields = {"WARC-Target-URI": url, "WARC-Date": moment(date.timestamp()) if date else "", "WARC-Page-ID": page}
    head = _head(f"HTTP/1.1 {status} {_plain(_text(response, 'statusText'))}".rstrip(), headers)
    http = {"Content-Type": "application/http; msgtype=response", "WARC-Record-ID": identifier}
    writer.write("response", fields | http, head, io.BytesIO(body or b""))
    asked = {"Content-Type": "application/http; msgtype=request", "WARC-Concurrent-To": identifier}
    line = f"{_plain(_text(request, 'method') or 'GET')} {_plain(url)} HTTP/1.1"
    sent = _text(_part(request, "postData"), "text").encode("utf-8", "replace")
    writer.write("request", fields | asked, _head(line, _headers(request)) + sent)


def _body(content: dict[str, object], headers: Headers) -> tuple[bytes | None, Headers]:
    """None where the file has no content. Text is written as UTF-8, and its type says so."""
    text = content.get("text")
    headers = [(name, value) for name, value in headers if name.lower() not in _CODINGS]
    if not isinstance(text, str):
        return None, headers
    if _text(content, "encoding").lower() == "base64":
        return base64.b64decode(text, validate=True), headers
    essence = parse_content_type(header_of(headers, "content-type") or _text(content, "mimeType")).essence
    others = [(name, value) for name, value in headers if name.lower() != "content-type"]
    return text.encode("utf-8", "replace"), [*others, ("Content-Type", f"{essence or 'text/plain'}; charset=utf-8")]


def _headers(part: dict[str, object]) -> Headers:
    listed = part.get("headers")
    each = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    pairs = [(_text(one, "name"), _plain(_text(one, "value"))) for one in each]
    return [(name, value) for name, value in pairs if _NAME.fullmatch(name)]


def _head(line: str, headers: Headers) -> bytes:
    return "\r\n".join([line, *(f"{name}: {value}" for name, value in headers), "", ""]).encode("utf-8", "replace")


def _plain(text: str) -> str:
    return " ".join(text.split())


def _part(document: dict[str, object], name: str) -> dict[str, object]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _text(document: dict[str, object], name: str) -> str:
    found = document.get(name)
    return found if isinstance(found, str) else ""
