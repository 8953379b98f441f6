"""Lines of a CDXJ index, as replay programs and WACZ want them: one for each record that can be shown.

com,example)/path?query 20261122055231 {"url": …, "mime": …, "status": …, "digest": …, "record": …, "length": …, …}

`record` is the WARC-Record-ID: a page may ask twice for one URL within a second, and get the same bytes.
"""

from __future__ import annotations

import json
import re
import urllib.parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.warc_file import WarcRecord

SHOWN = frozenset({"response", "revisit", "resource"})
_STATUS = re.compile(rb"^HTTP/[\d.]+ (\d{3})")
_TYPE = re.compile(rb"^content-type:[ \t]*([^;\r]*)", re.IGNORECASE | re.MULTILINE)


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


def line(record: WarcRecord, head: bytes, filename: str, offset: int, length: int) -> str:
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
    found = _TYPE.search(head.partition(b"\r\n\r\n")[0])
    return found[1].decode("utf-8", "replace").strip().lower() if found else ""
