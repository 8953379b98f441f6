"""What robots.txt of a site says of its pages (RFC 9309): asked for once a crawl, and kept in the crawl's folder."""

from __future__ import annotations

import fcntl
import json
import os
import time
import urllib.parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.web import Web

SIZE_MAX = 512_000  # bytes that are read of it (2.5: at least 500 KiB)
BROKEN = 500  # from this status on nobody knows what the site allows (2.3.1.4)
DAY = 24 * 3600.0  # seconds after which it is asked for again (2.4)
MINUTE = 60.0  # the same where the site was broken
NAME_MAX = 200


def is_allowed(status: int, text: str, url: str, robot: str) -> bool:
    """Judge by the answer for robots.txt: one that is not there allows everything, a broken site nothing."""
    if not 200 <= status < 300:
        return status < BROKEN
    from protego import Protego  # 20 ms, which only who asks for robots pays

    allowed: bool = Protego.parse(text).can_fetch(url, robot)
    return allowed


def rules_of(url: str, web: Web, folder: str) -> tuple[int, str]:
    """Return status and text of robots.txt of a page's site; whoever comes meanwhile waits for who asks for it.

    Raises OSError where nobody answers.
    """
    address = urllib.parse.urljoin(url, "/robots.txt")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, _name(address)), "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        kept = _kept(file.read(), address)
        if kept is not None:
            return kept
        answer = web.fetch(address, SIZE_MAX)
        status, text = answer.status, answer.content.decode("utf-8", "replace")
        file.truncate(0)
        json.dump({"url": address, "at": time.time(), "status": status, "text": text}, file)
        return status, text


def _name(address: str) -> str:
    parts = urllib.parse.urlsplit(address)
    return urllib.parse.quote(f"{parts.scheme}_{parts.netloc}", safe="")[:NAME_MAX] + ".json"


def _kept(line: str, address: str) -> tuple[int, str] | None:
    """What was kept of it, if that is not too old; a line that is torn is none."""
    try:
        kept = json.loads(line)
    except ValueError:
        return None
    lasts = DAY if kept["status"] < BROKEN else MINUTE
    is_good = kept["url"] == address and time.time() - kept["at"] < lasts
    return (kept["status"], kept["text"]) if is_good else None
