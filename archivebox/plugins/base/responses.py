"""Finds what the browser got: the index that the plugin `responses` writes, and bodies by URL.

    archive = Archive()
    response = archive.find("https://example.com/picture.png")
    if response:
        data = archive.body(response)

Good while the page is still being recorded, and after the plugin `warc` has packed the records.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os

from archivebox.plugins.base.hook import record_in, skipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from archivebox.plugins.base.cdp import Params

INDEX = "index.jsonl"
DOCUMENTS = "documents.jsonl"
CDXJ = "index.cdxj"
REDIRECTS_MAX = 20
COPY_SIZE = 1 << 20  # bytes
LINE_MAX = 1 << 16  # bytes of one header line


class Response:
    """One answer, as a line of the index tells it; `record` has all of that line, which may lack anything."""

    __slots__ = ("record",)

    def __init__(self, record: Params) -> None:
        self.record = record

    @property
    def url(self) -> str:
        return str(self.record.get("url", ""))

    @property
    def method(self) -> str:
        return str(self.record.get("method", ""))

    @property
    def status(self) -> int:
        """0 where there was no answer: `error` says why."""
        return int(self.record.get("status") or 0)

    @property
    def mime(self) -> str:
        return str(self.record.get("mime", ""))

    @property
    def size(self) -> int:
        """Bytes of the body, decoded."""
        return int(self.record.get("size") or 0)

    @property
    def is_piece(self) -> bool:
        """Whether it is a part of what is there (RFC 9110, 15.3.7): films are asked for so, though one may be all."""
        return self.status == 206 and self.record.get("span") != f"bytes 0-{self.size - 1}/{self.size}"

    @property
    def sha256(self) -> str:
        """Digest of the body in hexadecimal, '' where none was kept."""
        return str(self.record.get("sha256", ""))

    @property
    def is_main(self) -> bool:
        """Whether it is a document of the tab's main frame: a redirect to the page, or the page."""
        return bool(self.record.get("main"))

    def header(self, name: str) -> str:
        """Return a header of the answer, '' where there is none; of documents of the main frame."""
        headers = self.record.get("response_headers", {})
        return next((str(value) for key, value in headers.items() if key.lower() == name), "")

    @property
    def redirected_to(self) -> str:
        return str(self.record.get("redirected_to", ""))

    @property
    def error(self) -> str:
        return str(self.record.get("error", ""))

    @property
    def session(self) -> str:
        """The time of the tab in which it came; '' in what others wrote."""
        return str(self.record.get("session", ""))

    @property
    def truncated(self) -> str:
        """Why the body is not whole (a word of WARC-Truncated), '' where it is."""
        return str(self.record.get("truncated", ""))


class DocumentFacts:
    """What the browser took a document for: its media type and its charset, "" where it was not asked."""

    __slots__ = ("charset", "mime")

    def __init__(self, record: Params) -> None:
        self.mime = str(record.get("mime", ""))
        self.charset = str(record.get("charset", ""))


class Archive:
    """The responses of one Snapshot, while they are recorded and afterwards."""

    def __init__(self, folder: str = "") -> None:
        """`folder`: where the recording of the page is; that of the hook's own page, where none is named."""
        self._folder = folder or recording_folder()
        self._read = 0  # bytes of the index
        self._responses: list[Response] = []
        self._by_url: dict[str, Response] = {}
        self._bodies: dict[str, Response] = {}

    @property
    def is_there(self) -> bool:
        """Whether the recorder has begun."""
        return os.path.exists(os.path.join(self._folder, INDEX)) and not self._is_foreign()

    def or_skip(self) -> Archive:
        """Return the archive; end the hook as skipped where nobody records pages in this form."""
        if _recording_plugin() == "":
            skipped("no plugin here records pages in the form that this one reads (the role recording)")
        if self._is_foreign():
            skipped("the plugin responses is another than ArchiveBox's, and what it wrote cannot be read")
        return self

    def _is_foreign(self) -> bool:
        """Whether the index is of another form: that of a plugin which was in the place of ours when it was written."""
        first = next(_lines(os.path.join(self._folder, INDEX), 0), None)
        return first is not None and "session" not in first[0]

    def responses(self) -> list[Response]:
        """Return all that is known by now, in order of their ends; of a tab that was opened again, of all sessions."""
        self._read_on()
        return self._responses

    def latest(self) -> list[Response]:
        """Return those of the latest session: an earlier one ended with its tab, and what it got may be half a page."""
        responses = self.responses()
        last = responses[-1].session if responses else ""
        return [response for response in responses if response.session == last]

    def find(self, url: str) -> Response | None:
        """Return the latest answer to a GET of `url` whose body is kept, through redirects."""
        self._read_on()
        for _ in range(REDIRECTS_MAX):
            response = self._by_url.get(url.partition("#")[0])
            if response is None or not response.redirected_to:
                return response if response and response.sha256 in self._bodies else None
            url = response.redirected_to
        return None

    def body(self, response: Response) -> bytes:
        """Return the body of an answer that `find` found. Raises KeyError where none is kept."""
        with self._open(response) as file:
            return file.read(self._bodies[response.sha256].size)

    def content_type(self, response: Response) -> str:
        """Return the Content-Type of an answer whose record is not packed yet, else its media type alone."""
        record = response.record
        if record.get("warc") and "offset" in record:
            with contextlib.suppress(FileNotFoundError), open(os.path.join(self._folder, record["warc"]), "rb") as file:
                file.seek(record["offset"])
                _skip_head(file)
                return _header(file, b"content-type") or response.mime
        return response.mime

    def copy_body(self, response: Response, target: BinaryIO) -> None:
        """Write the body of an answer to a file, however large it is."""
        left = self._bodies[response.sha256].size
        with self._open(response) as file:
            while left and (piece := file.read(min(left, COPY_SIZE))):
                target.write(piece)
                left -= len(piece)

    def facts(self, url: str) -> DocumentFacts:
        """Return what the browser took the document of `url` for."""
        return read_documents(self._folder).get(url) or DocumentFacts({})

    def _read_on(self) -> None:
        for record, end in _lines(os.path.join(self._folder, INDEX), self._read):
            self._add(Response(record))
            self._read = end

    def _add(self, response: Response) -> None:
        self._responses.append(response)
        if response.method == "GET" and (response.sha256 or response.redirected_to) and not response.is_piece:
            self._by_url[response.url] = response
        if response.sha256 and "record" in response.record and not response.record.get("revisit"):
            self._bodies[response.sha256] = response

    def _open(self, response: Response) -> BinaryIO:
        """Open the record that holds a body, at its first byte."""
        kept = self._bodies[response.sha256].record
        try:
            file: BinaryIO = open(os.path.join(self._folder, kept["warc"]), "rb")  # noqa: SIM115  (the caller closes it)
            offset = kept["offset"]
        except FileNotFoundError:
            file, offset = self._open_packed(response.sha256)
        file.seek(offset)
        _skip_head(file)
        _skip_head(file)
        return file

    def _open_packed(self, digest: str) -> tuple[BinaryIO, int]:
        folder = os.path.join(self._folder, os.pardir, "warc")
        with open(os.path.join(folder, CDXJ), encoding="utf-8") as index:
            for line in index:
                fields = json.loads(line.split(" ", 2)[2])
                if fields["digest"] == f"sha256:{digest}" and fields["mime"] != "warc/revisit":
                    packed = open(os.path.join(folder, fields["filename"]), "rb")  # noqa: SIM115
                    packed.seek(int(fields["offset"]))
                    return io.BufferedReader(gzip.GzipFile(fileobj=packed)), 0
        raise KeyError(digest)


def recording_folder(snapshot_folder: str = os.pardir) -> str:
    """Return the folder of the plugin that records the page, which says so by the role `recording`."""
    return os.path.join(snapshot_folder, _recording_plugin() or ".nobody")


def _recording_plugin() -> str:
    """Return its name; '' where there is none. What is run outside of the engine takes ours."""
    return os.environ.get("RECORDING_PLUGIN", "responses")


def read_index(folder: str) -> list[Params]:
    """Return the lines of the index that are whole."""
    return [record for record, _ in _lines(os.path.join(folder, INDEX), 0)]


def read_documents(folder: str) -> dict[str, DocumentFacts]:
    """Return what the browser took the documents of a page and its frames for, by URL."""
    return {str(record["url"]): DocumentFacts(record) for record, _ in _lines(os.path.join(folder, DOCUMENTS), 0)}


def _lines(path: str, start: int) -> Iterator[tuple[Params, int]]:
    """Yield each whole line from `start`, and where it ends."""
    if not os.path.exists(path):
        return
    with open(path, "rb") as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n"):
                return
            start += len(line)
            if "url" in (record := record_in(line)):
                yield record, start


def _header(file: BinaryIO, name: bytes) -> str:
    """Return the value of a header of the head at which a file stands, "" where it has none."""
    while (line := file.readline(LINE_MAX)) not in (b"\r\n", b""):
        key, _, value = line.partition(b":")
        if key.strip().lower() == name:
            return value.strip().decode("latin-1")
    return ""


def _skip_head(file: BinaryIO) -> None:
    while file.readline(LINE_MAX) not in (b"\r\n", b""):
        pass
