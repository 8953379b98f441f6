"""Owns recordings that tests make by hand: what the recorder of a page leaves, without a browser."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from archivebox.plugins.base.packing import BodySharing, pack
from archivebox.plugins.base.warc_file import WarcWriter

WARC = "20261122090000.warc"
TIME = "2026-11-22T09:00:00.000000Z"


@dataclass(frozen=True)
class Page:
    """What a server answered."""

    body: bytes = b""
    type: str = "text/html"
    status: int = 200
    to: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    method: str = "GET"
    sent: bytes = b""
    loaded_as: str = ""
    initiator: str = ""
    main: bool = False


def record(folder: Path, pages: Mapping[str, Page], failures: Mapping[str, str] | None = None) -> None:
    """Write the recorder's log and its WARC into a snapshot's folder."""
    record_all(folder, pages.items(), failures)


def record_all(folder: Path, pages: Iterable[tuple[str, Page]], failures: Mapping[str, str] | None = None) -> None:
    """The same for answers in the order of their coming, of which several may be to one URL."""
    (folder / "responses").mkdir(parents=True)
    writer = WarcWriter(str(folder / "responses" / WARC))
    bodies: dict[str, str] = {}
    with (folder / "responses" / "index.jsonl").open("w") as index:
        for url, page in pages:
            index.write(json.dumps(_written(writer, url, page, bodies)) + "\n")
        for url, error in (failures or {}).items():
            line = {"url": url, "method": "GET", "status": 0, "size": 0, "time": TIME, "error": error, "session": WARC}
            index.write(json.dumps(line) + "\n")
    writer.close()


def pack_recording(folder: Path, *, with_record_ids: bool = True, store: Path | None = None) -> None:
    """Do what the plugin ``warc`` does; ``with_record_ids``: whether lines of the CDXJ name their records.

    ``store``: where the bodies are that the pages of one owner have in common.
    """
    (folder / "warc").mkdir()
    with chdir(folder / "warc"):
        sharing = BodySharing(str(store), ".") if store else None
        lines = pack(str(folder / "responses" / WARC), f"{WARC}.gz", sharing)
    if not with_record_ids:
        lines = [_without_record_id(line) for line in lines]
    (folder / "warc" / "index.cdxj").write_text("".join(sorted(lines)))
    (folder / "responses" / WARC).unlink()


def _without_record_id(line: str) -> str:
    key, moment, text = line.split(" ", 2)
    fields = json.loads(text)
    del fields["record"]
    return f"{key} {moment} {json.dumps(fields)}\n"


def _written(writer: WarcWriter, url: str, page: Page, bodies: dict[str, str]) -> dict[str, object]:
    """The line of the log; ``bodies``: the record of each body, by digest."""
    headers = [*([("Content-Type", page.type)] if page.type else []), *page.headers]
    head = "\r\n".join([f"HTTP/1.1 {page.status} Said", *(f"{name}: {value}" for name, value in headers), "", ""])
    digest = hashlib.sha256(page.body).hexdigest()
    fields = {"WARC-Target-URI": url, "WARC-Date": TIME, "WARC-Payload-Digest": f"sha256:{digest}"}
    fields["Content-Type"] = "application/http; msgtype=response"
    is_revisit = bool(page.body) and digest in bodies
    if is_revisit:
        at = writer.write("revisit", {**fields, "WARC-Refers-To": bodies[digest]}, head.encode())
    else:
        at = writer.write("response", fields, head.encode(), io.BytesIO(page.body))
    bodies.setdefault(digest, at.identifier)
    request = f"{page.method} / HTTP/1.1\r\nCookie: secret\r\n\r\n".encode() + page.sent
    asked = {"WARC-Target-URI": url, "WARC-Concurrent-To": at.identifier, "WARC-Date": TIME}
    writer.write("request", {**asked, "Content-Type": "application/http; msgtype=request"}, request)
    line: dict[str, object] = {
        "url": url, "method": page.method, "status": page.status, "mime": page.type.partition(";")[0], "time": TIME,
        "size": len(page.body), "redirected_to": page.to, "session": WARC, "warc": WARC, "offset": at.offset,
        "length": at.length, "record": at.identifier, **({"revisit": True} if is_revisit else {}),
    }  # fmt: skip
    told = {"type": page.loaded_as, "initiator": page.initiator, "main": page.main}
    line |= {name: value for name, value in told.items() if value}
    return line if page.to else line | {"sha256": digest}
