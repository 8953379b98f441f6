#!/usr/bin/env python3
"""Pack what was recorded, add what was made of the page if wished, and index it: what a WACZ is made of.

`<time>.warc.gz` is what the browser got, but for bodies of 16 kB and more. These are in `shared-<sha256>.warc.gz`, hard
links to what the first page of this owner had of them. `outputs.warc.gz` is what other plugins made of the page
(WARC_OUTPUTS: it is all there once already), `index.cdxj` finds all records, and `pages.jsonl` says which page it is.
The plain file of the recorder is removed when all of it is here.
"""

from __future__ import annotations

import hashlib
import json
import os

from archivebox.plugins.base import (
    Hook,
    Settings,
    TimeIsOver,
    noresults,
    set_deadline,
    sibling,
    succeeded,
    try_again,
    write_atomically,
)
from archivebox.plugins.base.packing import BodySharing, is_linked_name, pack
from archivebox.plugins.base.responses import CDXJ, Archive, recording_folder
from archivebox.plugins.base.warc_file import WarcWriter, moment

OUTPUTS = "outputs.warc.gz"
PAGES = "pages.jsonl"
MARGIN = 0.9  # of the hook's time
TEXT_MAX = 1 << 20  # bytes of the page's text in pages.jsonl
# What is kept of other plugins, under the names that other tools use (urn:view: is a picture of the page as seen).
RESOURCES = (
    ("view", "screenshot/screenshot.webp", "image/webp"),
    ("view", "screenshot/screenshot.png", "image/png"),
    ("fullPage", "screenshot/full.jpg", "image/jpeg"),
    ("thumbnail", "screenshot/thumbnail.webp", "image/webp"),
    ("pdf", "pdf/output.pdf", "application/pdf"),
    ("dom", "dom/output.html", "text/html; charset=utf-8"),
    ("text", "article/article.txt", "text/plain; charset=utf-8"),
)


def pack_recorded(folder: str) -> list[str]:
    """Pack each file of the recorder; return the lines of the index."""
    store = os.environ.get("SHARED_BODIES_DIR", "")
    sharing = BodySharing(store, os.curdir) if store else None
    lines: set[str] = set()  # two files may have one shared body
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".warc"):
            lines.update(pack(os.path.join(folder, name), f"{name}.gz", sharing))
    return list(lines)


def remove_packed(folder: str) -> None:
    """Remove the plain files that are here packed, and indexed."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name.endswith(".warc") and os.path.exists(f"{name}.gz"):
            os.unlink(os.path.join(folder, name))


def pack_outputs(url: str) -> list[str]:
    """Write what other plugins made of the page as resources; return the lines of the index."""
    plain = ".outputs.warc"
    writer = WarcWriter(plain)
    try:
        writer.write("warcinfo", {"Content-Type": "application/warc-fields"}, b"software: ArchiveBox\r\n")
        for role, name, mime in RESOURCES:
            path = sibling(name)
            if os.path.exists(path):
                write_resource(writer, f"urn:{role}:{url}", path, mime)
        writer.close()
        return pack(plain, OUTPUTS)
    finally:
        os.unlink(plain)


def write_resource(writer: WarcWriter, uri: str, path: str, mime: str) -> None:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        fields = {"WARC-Target-URI": uri, "WARC-Date": moment(os.fstat(file.fileno()).st_mtime), "Content-Type": mime}
        writer.write("resource", {**fields, "WARC-Payload-Digest": f"sha256:{digest}"}, body=file)


def kept_lines(new: list[str]) -> list[str]:
    """Return the lines of the index for files that were packed before and are not among the new ones."""
    if not os.path.exists(CDXJ):
        return []
    names = {OUTPUTS} | {_filename(line) for line in new}
    with open(CDXJ, encoding="utf-8") as file:
        return [line for line in file if _filename(line) not in names]


def _filename(line: str) -> str:
    return str(json.loads(line.split(" ", 2)[2])["filename"])


def describe_page(url: str, started: str) -> str:
    """Return the pages.jsonl of a WACZ (its specification, 1.1.1, section 5.2) for the one page."""
    text = _read("article/article.txt")
    page = {"id": Hook.from_argv().snapshot_id, "url": url, "ts": started, "title": _read("title/title.txt").strip()}
    head = {"format": "json-pages-1.0", "id": "pages", "title": "Pages", "hasText": bool(text)}
    return "".join(json.dumps(each) + "\n" for each in (head, page | ({"text": text} if text else {})))


def _read(name: str) -> str:
    try:
        with open(sibling(name), "rb") as file:
            return file.read(TEXT_MAX).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def main() -> None:
    hook = Hook.from_argv()
    documents = [each for each in Archive().or_skip().latest() if each.is_main]
    if not documents:
        noresults("nothing was recorded")
    settings = Settings()
    set_deadline(settings.timeout("WARC") * MARGIN)
    try:
        recorded = pack_recorded(recording_folder())
        lines = recorded + kept_lines(recorded) + (pack_outputs(hook.url) if settings.bool("WARC_OUTPUTS") else [])
    except TimeIsOver:
        try_again("Packing took too long. Raise WARC_TIMEOUT.")
    write_atomically(PAGES, describe_page(hook.url, str(documents[0].record["time"])))
    write_atomically(CDXJ, "".join(sorted(lines)))
    remove_packed(recording_folder())
    packed = [name for name in sorted(os.listdir(".")) if name.endswith(".warc.gz")]
    files = [name for name in packed if not is_linked_name(name)]
    succeeded(files[0], {"files": files, "records": len(lines), "shared": len(packed) - len(files)})


if __name__ == "__main__":
    main()
