"""Keeps exchanges: a line of `index.jsonl` and records of a plain WARC each, bodies as files where that is wished."""

from __future__ import annotations

import hashlib
import json
import os
import time
from http import HTTPStatus

from archivebox.plugins.base.responses import DOCUMENTS, INDEX, read_index
from archivebox.plugins.base.warc_file import WarcWriter, cut_to_whole_records, moment, new_record_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params
    from archivebox.plugins.base.warc_file import WarcRecord

    from .addresses import Addresses
    from .exchange import RecordedExchange
    from .files import ResponseFiles

SAME_BODY = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
HTTP = {"request": "application/http; msgtype=request", "response": "application/http; msgtype=response"}
ENCODED = frozenset({"content-encoding", "transfer-encoding"})  # undone by the browser
REMOVED = "[removed]"
NOTHING = hashlib.sha256(b"").hexdigest()


def new_name() -> str:
    """Return a name for a WARC of this session."""
    name = time.strftime("%Y%m%d%H%M%S", time.gmtime())
    taken = {entry.partition(".")[0] for entry in os.listdir(".")}
    numbers = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return (name if name not in taken else next(each for each in numbers if each not in taken)) + ".warc"


class StoredBody:
    """A body that is in a WARC already: of which record, URL and date."""

    def __init__(self, record: str, url: str, date: str) -> None:
        self.record, self.url, self.date = record, url, date


class Store:
    """One session of the recorder: its WARC, and the index that all sessions of a Snapshot share."""

    def __init__(
        self,
        warc: str,
        hidden: frozenset[str],
        info: dict[str, str],
        addresses: Addresses,
        files: ResponseFiles | None = None,
    ) -> None:
        """`hidden`: headers, in lower case, that are left out; `info`: fields of warcinfo."""
        self._hidden, self._addresses, self._files = hidden, addresses, files
        self._bodies: dict[str, StoredBody] = {}
        self._urls: dict[str, str] = {}  # URL: digest of what a GET gave
        self.count = self.errors = self.size = 0
        self.is_empty_page = False
        """Whether the page's own document came, and nothing was in it."""
        for entry in read_index("."):
            self._remember(entry)
        self._name = warc
        self._warc = WarcWriter(warc)
        self._index = open(INDEX, "ab", buffering=0)  # noqa: SIM115  (closed by `close`)
        self._info = self._begin(info)

    def wants_body(self, exchange: RecordedExchange) -> bool:
        """Whether the body of an answer is new, as far as that can be known without it."""
        return exchange.source == "network" or exchange.url not in self._urls

    def save(self, exchange: RecordedExchange) -> None:
        """Keep a whole exchange."""
        if exchange.confirmed:
            self._confirm(exchange)
        if exchange.source == "network" and exchange.status:
            exchange.address = self._addresses.of(exchange.url, exchange.address)
        exchange.error = self._addresses.explain(exchange.error, exchange.url)
        entry = self._describe(exchange)
        if not exchange.status:
            self._metadata(exchange)
        elif self.wants_body(exchange):
            self._pair(exchange, entry)
        else:
            entry["sha256"] = self._urls[exchange.url]
        if self._files and exchange.body.size:
            entry["file"] = self._files.keep(exchange)
        self.count += 1
        self.errors += bool(exchange.error)
        self._remember(entry)
        if exchange.main and exchange.status == HTTPStatus.OK and exchange.method == "GET":
            self.is_empty_page = not exchange.error and entry.get("sha256", NOTHING) == NOTHING
        self._index.write(json.dumps(entry, separators=(",", ":")).encode() + b"\n")

    def _confirm(self, exchange: RecordedExchange) -> None:
        """Tell what the wire had, if the body is in this Snapshot; else what the cache gave: an earlier page has it."""
        if exchange.url in self._urls:
            exchange.apply_not_modified()
        else:
            exchange.source = "cache"

    def close(self) -> None:
        self._index.close()
        self._warc.close()

    def _begin(self, info: dict[str, str]) -> str:
        text = "".join(f"{name}: {value}\r\n" for name, value in info.items()).encode()
        fields = {"WARC-Filename": os.path.basename(self._name), "Content-Type": "application/warc-fields"}
        return self._warc.write("warcinfo", fields, text).identifier

    def _remember(self, entry: Params) -> None:
        digest = entry.get("sha256", "")
        if "record" in entry and digest and not entry.get("revisit"):
            self._bodies.setdefault(digest, StoredBody(entry["record"], entry["url"], entry["time"]))
        if digest and entry["method"] == "GET" and entry["status"] == 200:
            self._urls.setdefault(entry["url"], digest)

    # --- records ------------------------------------------------------------------------------------------------

    def _pair(self, exchange: RecordedExchange, entry: Params) -> None:
        """Write request and response, or what says that the body is in this Snapshot already."""
        identifier = new_record_id()
        fields = self._common(exchange) | {"WARC-Record-ID": identifier, "WARC-Truncated": exchange.truncated}
        fields["WARC-Protocol"] = exchange.protocol
        record = self._response(exchange, fields, entry)
        entry |= {"warc": self._name, "record": identifier, "offset": record.offset, "length": record.length}
        if exchange.source == "network":
            related = {"WARC-Concurrent-To": identifier, "Content-Type": HTTP["request"]}
            self._warc.write("request", self._common(exchange) | related, self._request_block(exchange))
        self.size += exchange.body.size

    def _response(self, exchange: RecordedExchange, fields: dict[str, str], entry: Params) -> WarcRecord:
        digest, fields["Content-Type"] = exchange.body.sha256, HTTP["response"]
        head = self._response_head(exchange)
        former = self._bodies.get(digest) if exchange.body.size and not exchange.truncated else None
        profile = SAME_BODY
        if exchange.status == 304:
            former, profile = self._bodies.get(self._urls.get(exchange.url, "")), NOT_MODIFIED
            digest = self._urls.get(exchange.url, digest)
        elif not exchange.has_no_body or exchange.body.size:
            entry |= {"sha256": digest, "size": exchange.body.size}
        fields["WARC-Payload-Digest"] = f"sha256:{digest}"
        if former is None:
            return self._warc.write("response", fields, head, exchange.body.file)
        entry["revisit"] = True
        fields |= {"WARC-Profile": profile, "WARC-Refers-To": former.record}
        fields |= {"WARC-Refers-To-Target-URI": former.url, "WARC-Refers-To-Date": former.date}
        return self._warc.write("revisit", fields, head)

    def _metadata(self, exchange: RecordedExchange) -> None:
        fields = self._common(exchange) | {"Content-Type": "application/warc-fields"}
        text = f"fetchError: {exchange.error}\r\nmethod: {exchange.method}\r\nvia: {exchange.initiator}\r\n"
        self._warc.write("metadata", fields, text.encode())

    def _common(self, exchange: RecordedExchange) -> dict[str, str]:
        return {
            "WARC-Target-URI": exchange.url,
            "WARC-Date": moment(exchange.started),
            "WARC-IP-Address": exchange.address,
            "WARC-Warcinfo-ID": self._info,
        }

    # --- HTTP ---------------------------------------------------------------------------------------------------

    def _response_head(self, exchange: RecordedExchange) -> bytes:
        """Return status line and headers; those that no longer hold are kept under another name, as other tools do."""
        lines = [f"HTTP/1.1 {exchange.status} {exchange.reason}".rstrip()]
        size = "" if exchange.has_no_body else str(exchange.body.size)
        for name, value in self._shown(exchange.received):
            gone = name.lower() in ENCODED or (name.lower() == "content-length" and size not in ("", value))
            lines.append(f"{'X-Archive-Orig-' if gone else ''}{name}: {value}")
        if size and f"content-length: {size}" not in (line.lower() for line in lines):
            lines.append(f"Content-Length: {size}")
        return _lines(lines)

    def _request_block(self, exchange: RecordedExchange) -> bytes:
        lines = [f"{exchange.method} {exchange.target} HTTP/1.1"]
        headers = self._shown(exchange.sent)
        if not any(name.lower() == "host" for name, _ in headers):
            lines.append(f"Host: {exchange.url.split('/')[2]}")
        return _lines([*lines, *(f"{name}: {value}" for name, value in headers)]) + exchange.post_data

    def _shown(self, headers: dict[str, str]) -> list[tuple[str, str]]:
        """Return names and values, one a line of the header, without secrets and HTTP/2's pseudo-headers."""
        return [
            (name, line)
            for name, value in headers.items()
            if not name.startswith(":") and name.lower() not in self._hidden
            for line in value.split("\n")
        ]

    # --- the index ----------------------------------------------------------------------------------------------

    def _describe(self, exchange: RecordedExchange) -> Params:
        entry: Params = {
            "url": exchange.url,
            "method": exchange.method,
            "status": exchange.status,
            "type": exchange.type,
            "mime": exchange.mime,
            "size": 0,
            "wire": exchange.wire,
            "time": moment(exchange.started),
            "seconds": round(exchange.seconds, 4),
            "source": exchange.source,
            "frame": exchange.frame,
            "initiator": exchange.initiator,
            "protocol": exchange.protocol,
            "address": exchange.address,
            "redirected_to": exchange.redirected_to,
            "span": exchange.header("content-range") if exchange.status == 206 else "",
            "error": exchange.error,
            "truncated": exchange.truncated,
            "session": self._name,
        }
        entry = {name: value for name, value in entry.items() if value or name in ("status", "size")}
        return entry | (self._describe_main(exchange) if exchange.main else _tls(exchange))

    def _describe_main(self, exchange: RecordedExchange) -> Params:
        """Return what is told of the page's own document alone."""
        headers = {"request_headers": exchange.sent, "response_headers": exchange.received}
        shown = {
            which: {name: REMOVED if name.lower() in self._hidden else value for name, value in values.items()}
            for which, values in headers.items()
        }
        return {"main": True, "because": exchange.because, "reason": exchange.reason, "tls": exchange.tls, **shown}


def cut_unfinished(folder: str) -> None:
    """Cut what a recorder that was killed left unfinished."""
    for name in os.listdir(folder):
        if name.endswith(".warc"):
            cut_to_whole_records(os.path.join(folder, name))
    for name in (INDEX, DOCUMENTS):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, "r+b") as file:
                file.truncate(file.read().rfind(b"\n") + 1)


def _tls(exchange: RecordedExchange) -> Params:
    return {"tls": {"protocol": exchange.tls["protocol"]}} if exchange.tls else {}


def _lines(lines: list[str]) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")
