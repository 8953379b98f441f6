"""How a file is called here: as on its site, with an ending that says what it is."""

from __future__ import annotations

import mimetypes
import os
import re
import urllib.parse

NAME_MAX = 120  # characters, of the 255 bytes that file systems allow
# mimetypes knows several for each of these, or none, and takes an unusual one.
ENDINGS = {
    "text/plain": ".txt",
    "image/jpeg": ".jpg",
    "audio/mpeg": ".mp3",
    "text/markdown": ".md",
    "image/webp": ".webp",
    "application/x-ndjson": ".jsonl",
    "application/jsonl": ".jsonl",
}
_EXTENDED = re.compile(r"filename\*\s*=\s*(?:utf-8|iso-8859-1)'[^']*'([^;]+)", re.IGNORECASE)  # RFC 6266, 4.3
_PLAIN = re.compile(r'filename\s*=\s*(?:"([^"]*)"|([^;]+))', re.IGNORECASE)
_UNSAFE = re.compile(r"[^\w.()+-]+")


def file_name(url: str, mime: str, disposition: str = "") -> str:
    """Return a name without folders: the one that the server gives, else the last part of the URL's path."""
    path = urllib.parse.unquote(urllib.parse.urlsplit(url).path)
    given = _of_header(disposition) or path
    name = _UNSAFE.sub("_", re.split(r"[/\\]", given)[-1]).strip("._ ") or "file"
    stem, ending = os.path.splitext(name)
    wanted = ending if _means(ending, mime) else ending + (ENDINGS.get(mime) or mimetypes.guess_extension(mime) or "")
    return stem[: NAME_MAX - len(wanted)] + (wanted or ".bin")


def _of_header(disposition: str) -> str:
    if extended := _EXTENDED.search(disposition):
        return urllib.parse.unquote(extended[1].strip())
    plain = _PLAIN.search(disposition)
    return (plain[1] or plain[2] or "").strip() if plain else ""


def _means(ending: str, mime: str) -> bool:
    """Whether an ending says what the server says; octet-stream says nothing."""
    said = ENDINGS.get(mime) == ending.lower() or mimetypes.guess_type(f"x{ending}", strict=False)[0] == mime
    return said or (bool(ending) and mime in ("application/octet-stream", ""))
