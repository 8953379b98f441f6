"""Packs a plain WARC: each record a gzip member of its own (WARC 1.1, annex D), so that any can be read alone.

A large body goes into a file of its own, which all pages of an owner hard-link (`storage/shared_files.py`). At any
instant a page's folder has the whole record or still the recorder's file: the record is written into the page's folder,
and linked into the store from there. Where another process was first, its record is linked instead. Nothing is linked
that was not read through: a power cut may have left a file of the right name without its content.

The index has a line for each record that can be shown, as replay programs and WACZ want it (CDXJ):

com,example)/path?query 20261122055231 {"url": …, "mime": …, "status": …, "digest": …, "record": …, "length": …, …}

`record` is the WARC-Record-ID: a page may ask twice for one URL within a second, and get the same bytes.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import itertools
import json
import os
import re
import urllib.parse
import zlib

from archivebox.plugins.base.warc_file import COPY_SIZE, HEAD_MAX, WarcRecord, read_records, record_at, render_header
from archivebox.storage.shared_files import ignore_link_errors, is_linked_name, link_aside, linked_name, stored_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

__all__ = ["SHOWN", "BodySharing", "is_linked_name", "pack", "read_shared_body", "sort_key"]

SHOWN = frozenset({"response", "revisit", "resource"})
SHARED_MIN = 16_000  # bytes of a body; a file of its own costs a page 0.5 kB of records and an entry in its folder
MODE = 0o444
GZIP = 16 + zlib.MAX_WBITS  # zlib manual, deflateInit2
LEVEL = 6
HEAD_SIZE = 1 << 14  # bytes of a block that the index looks at
HTTP_HEAD_MAX = 1 << 16
SAME_BODY = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_END = b"\r\n\r\n"
_STATUS = re.compile(rb"^HTTP/[\d.]+ (\d{3})")
_TYPE = re.compile(rb"^content-type:[ \t]*([^;\r]*)", re.IGNORECASE | re.MULTILINE)
_NEEDED = {"WARC-Record-ID", "WARC-Target-URI", "WARC-Date", "WARC-Payload-Digest"}
_TEMPORARY = ".shared.tmp"  # one process packs a page


def pack(
    source: str, target: str, sharing: BodySharing | None = None, stop: Callable[[], object] = lambda: None
) -> list[str]:
    """Write the whole records of `source` to `target`, packed; return the lines of its index.

    With `sharing`, large bodies go into files of their own beside it, and `revisit` records tell of those that an
    earlier page had. `stop` is called before each part of a record, and may raise.
    """
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.tmp")
    with open(source, "rb") as plain, open(temporary, "wb") as packed:
        lines = _Packer(plain, packed, name, sharing, stop).pack(read_records(source))
    os.replace(temporary, target)
    return lines


class _Packer:
    """One file while it is packed."""

    def __init__(
        self, plain: BinaryIO, packed: BinaryIO, name: str, sharing: BodySharing | None, stop: Callable[[], object]
    ) -> None:
        self._plain, self._packed, self._name, self._sharing, self._stop = plain, packed, name, sharing, stop
        self._lines: list[str] = []
        self._shared: dict[str, SharedBody] = {}  # by digest: those whose line the index has

    def pack(self, records: Iterator[WarcRecord]) -> list[str]:
        for record, following in itertools.pairwise(itertools.chain(records, [None])):
            if record is None:
                break
            if not (self._sharing and self._share(record, following, self._sharing)):
                self._pack_whole(record)
        return self._lines

    def _pack_whole(self, record: WarcRecord) -> None:
        offset = self._packed.tell()
        _pack_one(self._plain, record, self._packed, self._stop)
        if record.type in SHOWN:
            self._index(record, self._block(record, HEAD_SIZE), offset)

    def _share(self, record: WarcRecord, following: WarcRecord | None, sharing: BodySharing) -> bool:
        """Have the body in a file of its own; False where the record is packed with the others."""
        digest = _DIGEST.fullmatch(record.fields.get("WARC-Payload-Digest", ""))
        if digest is None:
            return False
        if record.type == "revisit":
            body = sharing.find(digest[1])
        elif self._is_large(record) and self._is_answer_to_get(record, following):
            body = sharing.keep(digest[1], lambda file: _pack_one(self._plain, record, file, self._stop))
        else:
            return False
        if body is None:
            return False
        if digest[1] not in self._shared:
            self._shared[digest[1]] = body
            self._lines.append(body.line)
        if record.identifier != body.record.identifier:
            self._pack_revisit(record, body)
        return True

    def _is_large(self, record: WarcRecord) -> bool:
        if record.type != "response" or record.block_size < SHARED_MIN or "WARC-Truncated" in record.fields:
            return False
        return record.block_size - len(self._http_head(record)) >= SHARED_MIN

    def _is_answer_to_get(self, record: WarcRecord, following: WarcRecord | None) -> bool:
        """What a page sent for others is found behind its answer, which must lie in the same file."""
        if following is None or following.fields.get("WARC-Concurrent-To") != record.identifier:
            return True  # from the browser's cache
        return self._block(following, 4) == b"GET "

    def _pack_revisit(self, record: WarcRecord, body: SharedBody) -> None:
        """Write the record with its own headers, and where its body is."""
        head = self._http_head(record)
        fields = {name: value for name, value in record.fields.items() if name not in ("WARC-Type", "Content-Length")}
        fields = {"WARC-Profile": SAME_BODY} | fields | body.reference
        revisit = WarcRecord(0, header := render_header("revisit", fields, len(head)))
        offset = self._packed.tell()
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
        self._packed.write(packer.compress(header + head + _END) + packer.flush())
        self._index(revisit, head, offset)

    def _index(self, record: WarcRecord, head: bytes, offset: int) -> None:
        self._lines.append(index_line(record, head, self._name, offset, self._packed.tell() - offset))

    def _http_head(self, record: WarcRecord) -> bytes:
        """Return status line and headers with the empty line; all of a block that has no body."""
        head, end, _ = self._block(record, HTTP_HEAD_MAX).partition(_END)
        return head + end

    def _block(self, record: WarcRecord, size: int) -> bytes:
        self._plain.seek(record.body_offset)
        return self._plain.read(min(record.block_size, size))


def _pack_one(plain: BinaryIO, record: WarcRecord, packed: BinaryIO, stop: Callable[[], object]) -> None:
    plain.seek(record.offset)
    left, packer = record.length, zlib.compressobj(LEVEL, zlib.DEFLATED, GZIP)
    while left and (piece := plain.read(min(left, COPY_SIZE))):
        stop()
        packed.write(packer.compress(piece))
        left -= len(piece)
    packed.write(packer.flush())


# --- large bodies ------------------------------------------------------------------------------------------


class SharedBody:
    """A body in a file of its own: the `response` record that has it, and its line of the index."""

    def __init__(self, digest: str, record: WarcRecord, head: bytes, size: int) -> None:
        self.record = record
        self.line = index_line(record, head, linked_name(digest), 0, size)

    @property
    def reference(self) -> dict[str, str]:
        """The fields by which a revisit record refers to it (WARC 1.1, 6.7)."""
        fields = self.record.fields
        return {
            "WARC-Refers-To": self.record.identifier,
            "WARC-Refers-To-Target-URI": fields["WARC-Target-URI"],
            "WARC-Refers-To-Date": fields["WARC-Date"],
        }


class BodySharing:
    """The shared bodies of one page while its recording is packed."""

    def __init__(self, store: str, folder: str) -> None:
        """`store`: the owner's; `folder`: where the page's WARC files are."""
        self._store, self._folder = store, folder
        self._temporary = os.path.join(folder, _TEMPORARY)
        self._known: dict[str, SharedBody] = {}

    def find(self, digest: str) -> SharedBody | None:
        """Return the body of this digest if it is in the page's folder already."""
        known = self._known.get(digest) or read_shared_body(os.path.join(self._folder, linked_name(digest)), digest)
        if known is not None:
            self._known[digest] = known
        return known

    def keep(self, digest: str, write: Callable[[BinaryIO], object]) -> SharedBody | None:
        """Have a record with this body in the page's folder: that of the store, else the one that `write` writes.

        None where that has another body than it says.
        """
        body = self.find(digest) or self._link_stored(digest) or self._write(digest, write)
        if body is not None:
            self._known[digest] = body
        return body

    def _link_stored(self, digest: str) -> SharedBody | None:
        """Link the record of the store; None where there is none, it is damaged, or links cannot be made."""
        self._remove_temporary()  # it may be a link: it is never written to
        with ignore_link_errors():
            os.link(stored_path(self._store, digest), self._temporary, follow_symlinks=False)
        return self._put_into_place(digest)

    def _write(self, digest: str, write: Callable[[BinaryIO], object]) -> SharedBody | None:
        self._remove_temporary()
        with open(self._temporary, "xb") as file:
            write(file)
            os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode & MODE)  # as far as the umask lets others read
        body = self._put_into_place(digest)
        return body and (self._offer(digest) or body)

    def _offer(self, digest: str) -> SharedBody | None:
        """Link the page's record into the store; return the record that was put there first by somebody else.

        One that is damaged, or has as many links as there may be, is replaced.
        """
        own, stored, former = os.path.join(self._folder, linked_name(digest)), stored_path(self._store, digest), None
        with ignore_link_errors():
            os.makedirs(os.path.dirname(stored), exist_ok=True)
            try:
                os.link(own, stored, follow_symlinks=False)
            except FileExistsError:
                former = self._link_stored(digest)
                if former is None:
                    os.replace(link_aside(own, stored), stored)
        return former

    def _put_into_place(self, digest: str) -> SharedBody | None:
        """Have the temporary file in the page if there is one, with this body; else it goes."""
        body = read_shared_body(self._temporary, digest)
        if body is not None:
            os.replace(self._temporary, os.path.join(self._folder, linked_name(digest)))
        self._remove_temporary()  # rename(2) leaves both names where they are of one file
        return body

    def _remove_temporary(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._temporary)


def read_shared_body(path: str, digest: str) -> SharedBody | None:
    """Read a file through; None where it is not there, or is not one whole record with the body of this digest."""
    try:
        with gzip.open(path) as file:
            record = record_at(file, 0)
            if record is None or record.type != "response" or not record.fields.keys() >= _NEEDED:
                return None
            file.seek(record.body_offset)
            head, end, _ = file.read(HEAD_MAX).partition(_END)
            file.seek(record.body_offset + len(head + end))
            if _digest_of(file, record.block_size - len(head + end)) != digest or file.read(5) != _END:
                return None
            return SharedBody(digest, record, head + end, os.path.getsize(path))
    except (FileNotFoundError, EOFError, gzip.BadGzipFile, zlib.error, KeyError, ValueError):
        return None


def _digest_of(file: gzip.GzipFile, left: int) -> str:
    digest = hashlib.sha256()
    while left > 0 and (piece := file.read(min(left, COPY_SIZE))):
        digest.update(piece)
        left -= len(piece)
    return digest.hexdigest()


# --- the index ---------------------------------------------------------------------------------------------


def sort_key(url: str) -> str:
    """Return the URL in the order of its owners: host names turned round (SURT), scheme and `www.` left out."""
    parts = urllib.parse.urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    if not host:
        return url.lower()
    turned = host if re.fullmatch(r"[\d.]+|.*:.*", host) else ",".join(reversed(host.split(".")))
    port = f":{parts.port}" if parts.port else ""
    query = "&".join(sorted(parts.query.split("&")))
    return f"{turned}{port}){parts.path or '/'}{'?' if query else ''}{query}".lower()


def index_line(record: WarcRecord, head: bytes, filename: str, offset: int, length: int) -> str:
    """Return the line of a record whose block begins with `head`, packed at that place of a file."""
    url, date = record.fields["WARC-Target-URI"], re.sub(r"\D", "", record.fields["WARC-Date"])[:14]
    fields = {"url": url, "mime": _mime(record, head), "digest": record.fields.get("WARC-Payload-Digest", "")}
    if status := _STATUS.match(head):
        fields["status"] = status[1].decode()
    fields |= {"record": record.identifier, "length": str(length), "offset": str(offset), "filename": filename}
    return f"{sort_key(url)} {date} {json.dumps(fields)}\n"


def _mime(record: WarcRecord, head: bytes) -> str:
    if record.type == "revisit":
        return "warc/revisit"
    if record.type == "resource":
        return record.fields["Content-Type"].partition(";")[0]
    found = _TYPE.search(head.partition(_END)[0])
    return found[1].decode("utf-8", "replace").strip().lower() if found else ""
