"""Owns recordings that tests make by hand: what the recorder of a page leaves, without a browser."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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


def record(folder: Path, pages: Mapping[str, Page], failures: Mapping[str, str] | None = None) -> None:
    """Write the recorder's log and its WARC into a snapshot's folder."""
    (folder / "responses").mkdir(parents=True)
    writer = WarcWriter(str(folder / "responses" / WARC))
    with (folder / "responses" / "index.jsonl").open("w") as index:
        for url, page in pages.items():
            index.write(json.dumps(_written(writer, url, page)) + "\n")
        for url, error in (failures or {}).items():
            line = {"url": url, "method": "GET", "status": 0, "size": 0, "time": TIME, "error": error, "session": WARC}
            index.write(json.dumps(line) + "\n")
    writer.close()


def _written(writer: WarcWriter, url: str, page: Page) -> dict[str, object]:
    headers = [*([("Content-Type", page.type)] if page.type else []), *page.headers]
    head = "\r\n".join([f"HTTP/1.1 {page.status} Said", *(f"{name}: {value}" for name, value in headers), "", ""])
    digest = hashlib.sha256(page.body).hexdigest()
    fields = {"WARC-Target-URI": url, "WARC-Date": TIME, "WARC-Payload-Digest": f"sha256:{digest}"}
    at = writer.write("response", fields, head.encode(), io.BytesIO(page.body))
    line: dict[str, object] = {
        "url": url, "method": "GET", "status": page.status, "mime": page.type.partition(";")[0], "time": TIME,
        "size": len(page.body), "redirected_to": page.to, "session": WARC, "warc": WARC, "offset": at.offset,
        "length": at.length, "record": at.identifier,
    }  # fmt: skip
    return line if page.to else line | {"sha256": digest}
