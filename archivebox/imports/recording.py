"""Owns writing the answers of one imported page as our recorder leaves them, packed, so that replay shows them."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from archivebox.contract.outcomes import Status
from archivebox.imports.answer import ArchivedAnswer, Headers
from archivebox.imports.document import DocumentContent
from archivebox.imports.page import ImportedFile, ImportedOutput, Stop, do_nothing
from archivebox.plugins.base.packing import pack
from archivebox.plugins.base.responses import CDXJ, INDEX
from archivebox.plugins.base.warc_file import WarcWriter, new_record_id

_HTTP = {"request": "application/http; msgtype=request", "response": "application/http; msgtype=response"}
_ENCODED = frozenset({"content-encoding", "transfer-encoding"})
_SECRET = frozenset({"cookie", "authorization", "proxy-authorization", "set-cookie", "set-cookie2"})
"""What names whoever archived, as the recorder leaves it out."""
_LINE_END = re.compile(r"[\r\n]+")
_PLAIN = ".plain.warc"


class PageRecording:
    """The answers of one page; ``folder`` is its own, and is filled with files. ``stop`` may raise."""

    def __init__(self, folder: Path, captured_at: datetime, software: str, stop: Stop = do_nothing) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._stop = folder, stop
        self._session = f"{captured_at.astimezone(UTC):%Y%m%d%H%M%S}.warc"
        self._warc = WarcWriter(str(folder / _PLAIN))
        self._lines: list[dict[str, object]] = []
        self._bodies: dict[str, tuple[str, str, str]] = {}
        self.size = 0
        info = f"software: ArchiveBox\r\nformat: WARC File Format 1.1\r\ndescription: imported from {software}\r\n"
        self._warc.write("warcinfo", {"Content-Type": "application/warc-fields"}, info.encode())

    @property
    def count(self) -> int:
        return len(self._lines)

    def add(self, answer: ArchivedAnswer) -> None:
        """Keep an answer, and close its body."""
        self._stop()
        date = _moment(answer.date)
        identifier, is_revisit = new_record_id(), answer.size > 0 and answer.sha256 in self._bodies
        fields = {
            "WARC-Record-ID": identifier, "WARC-Target-URI": answer.url, "WARC-Date": date,
            "WARC-Truncated": answer.truncated, "WARC-Payload-Digest": f"sha256:{answer.sha256}",
            "Content-Type": _HTTP["response"],
        }  # fmt: skip
        if is_revisit:
            record, url, moment = self._bodies[answer.sha256]
            fields |= {
                "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
                "WARC-Refers-To": record, "WARC-Refers-To-Target-URI": url, "WARC-Refers-To-Date": moment,
            }  # fmt: skip
            written = self._warc.write("revisit", fields, _head(answer))
        else:
            written = self._warc.write("response", fields, _head(answer), answer.body)
            self._bodies[answer.sha256] = identifier, answer.url, date
        if answer.request:
            related = {"WARC-Target-URI": answer.url, "WARC-Date": date, "WARC-Concurrent-To": identifier}
            self._warc.write("request", {**related, "Content-Type": _HTTP["request"]}, _without_secrets(answer.request))
        place = {"warc": self._session, "record": identifier, "offset": written.offset, "length": written.length}
        self._lines.append(_described(answer, self._session) | place | ({"revisit": True} if is_revisit else {}))
        self.size += answer.size
        if answer.body is not None:
            answer.body.close()

    def close(self) -> Iterator[ImportedOutput]:
        """What the plugins that record would have left."""
        self._warc.close()
        name = f"{self._session}.gz"
        packed = self._folder / name
        lines = pack(str(self._folder / _PLAIN), str(packed), stop=self._stop)
        (self._folder / _PLAIN).unlink()
        cdxj, index = self._folder / CDXJ, self._folder / INDEX
        cdxj.write_text("".join(sorted(lines)))
        index.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self._lines))
        summary = f"{self.count} answer{'' if self.count == 1 else 's'}"
        yield ImportedOutput("responses", Status.SUCCEEDED, (ImportedFile(INDEX, str(index)),), summary)
        yield ImportedOutput(
            "warc", Status.SUCCEEDED, (ImportedFile(name, str(packed)), ImportedFile(CDXJ, str(cdxj))), name
        )


def text_outputs(folder: Path, content: DocumentContent, mime: str, text: str = "") -> Iterator[ImportedOutput]:
    """What the plugins for titles and text would have left; ``text``: where the source has its own."""
    folder.mkdir(parents=True, exist_ok=True)
    plugin, name = ("pdftotext", "content.txt") if mime == "application/pdf" else ("htmltotext", "htmltotext.txt")
    text = text if len(text) > len(content.text) else content.text
    if content.title:
        yield _text_output(folder, "title", "title.txt", content.title + "\n")
    if text.strip():
        yield _text_output(folder, plugin, name, text)
    elif not content.is_readable:
        yield ImportedOutput(plugin, Status.FAILED, summary="Reading this page would take too long or too much memory")
    else:
        yield ImportedOutput(plugin, Status.NORESULTS, summary="The page has no text")


def _text_output(folder: Path, plugin: str, name: str, text: str) -> ImportedOutput:
    path = folder / name
    path.write_text(text, encoding="utf-8", errors="replace")
    return ImportedOutput(plugin, Status.SUCCEEDED, (ImportedFile(name, str(path)),), name)


def _described(answer: ArchivedAnswer, session: str) -> dict[str, object]:
    """The line of the recorder's index."""
    redirected_to = answer.redirected_to
    line: dict[str, object] = {
        "url": answer.url, "method": answer.method, "status": answer.status, "type": answer.kind, "mime": answer.mime,
        "size": answer.size, "time": _moment(answer.date), "source": "network", "initiator": answer.referrer,
        "redirected_to": redirected_to, "truncated": answer.truncated, "session": session,
        "sha256": "" if redirected_to else answer.sha256,
    }  # fmt: skip
    line = {name: value for name, value in line.items() if value or name in {"status", "size"}}
    if answer.is_main:
        line |= {"main": True, "reason": answer.reason}
        line |= {"request_headers": _shown(answer.sent), "response_headers": _shown(answer.headers)}
    return line


def _shown(headers: Headers) -> dict[str, str]:
    return {name: "[removed]" if name.lower() in _SECRET else value for name, value in headers}


def _head(answer: ArchivedAnswer) -> bytes:
    """Status line and headers; those that no longer hold are kept under another name, as other tools do."""
    lines = [f"HTTP/1.1 {answer.status} {_LINE_END.sub(' ', answer.reason)}".rstrip()]
    for name, value in answer.headers:
        lower = name.lower()
        if lower in _SECRET:
            continue
        is_gone = lower in _ENCODED or (lower == "content-length" and value != str(answer.size))
        lines.append(f"{'X-Archive-Orig-' if is_gone else ''}{name}: {_LINE_END.sub(' ', value)}")
    if not any(line.lower() == f"content-length: {answer.size}" for line in lines):
        lines.append(f"Content-Length: {answer.size}")
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")


def _without_secrets(request: bytes) -> bytes:
    head, blank, body = request.partition(b"\r\n\r\n")
    kept = [
        line for line in head.split(b"\r\n") if line.partition(b":")[0].strip().lower().decode("latin-1") not in _SECRET
    ]
    return b"\r\n".join(kept) + (blank or b"\r\n\r\n") + body


def _moment(date: datetime) -> str:
    return f"{date.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
