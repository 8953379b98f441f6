#!/usr/bin/env python3
"""Record a URL that is a file, such as a PDF, without a browser: it is asked for once, as the recorder would have it.

`file.json` says that this was done: then no tab is opened. What turns out to be a page, wants a log-in, leads elsewhere
or is large is left to the browser, as is everything for which the browser has a profile, cookies or headers of its own.
"""

from __future__ import annotations

import http.client
import json
import os
import time

from recorder.addresses import Addresses
from recorder.exchange import RecordedExchange
from recorder.store import Store, cut_unfinished, new_name

from archivebox.plugins.base import (
    Hook,
    Settings,
    noresults,
    patch_snapshot,
    set_deadline,
    succeeded,
    write_atomically,
)
from archivebox.plugins.base.answer_headers import essence_of, is_page
from archivebox.plugins.base.hook import TimeIsOver
from archivebox.plugins.base.responses import INDEX
from archivebox.plugins.base.web import Web

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MARK = "file.json"
MAX_SIZE = 32 << 20  # bytes; what is larger takes its time, in which the recorder lets other pages go on
READ_TIME = 20.0  # seconds for all of it
READ_SIZE = 1 << 16  # bytes
OK = 200
AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"
OF_THE_SITE = frozenset({"set-cookie", "cookie"})
TO_THE_BROWSER = ("CHROME_USER_DATA_DIR", "COOKIES_FILE")
NO_PERSONA = "Default"  # need not have a profile


def visits_as_somebody(settings: Settings) -> bool:
    """Say whether the browser would say of the person who archives what we cannot say."""
    persona = os.environ.get("ACTIVE_PERSONA", NO_PERSONA)
    profile = os.path.join(os.environ.get("PERSONAS_DIR", ""), persona, "profile")
    given = any(settings.str(name) for name in TO_THE_BROWSER) or bool(settings.dict("CHROME_EXTRA_HEADERS"))
    return given or bool(persona and os.path.isdir(profile))


def why_not(status: int, headers: Mapping[str, str]) -> str:
    """Return why an answer is left to the browser, '' where it is a file to be kept here."""
    mime, length = headers.get("Content-Type", ""), headers.get("Content-Length", "")
    if status != OK:
        return f"the server answered {status}"
    if not mime or is_page(mime):
        return f"it is a page: {mime or 'without a type'}"
    if headers.get("Content-Encoding", "identity") != "identity":
        return "it came packed"
    if not length.isdigit() or not 0 < int(length) <= MAX_SIZE:
        return "it is large or empty, or does not say how large it is"
    return ""


def fetch(url: str, settings: Settings) -> RecordedExchange:
    """Return the whole of one file; the hook ends where it is not for us."""
    agent = settings.str("USER_AGENT") or AGENT
    web = Web(agent, READ_TIME, check_certificates=settings.bool("CHECK_SSL_VALIDITY"), follow=False)
    sent = {"User-Agent": agent, "Accept": "*/*", "Accept-Encoding": "identity"}
    request = {"request": {"url": url, "method": "GET", "headers": sent}, "type": "Document", "wallTime": time.time()}
    exchange = RecordedExchange(request, MAX_SIZE, main=True)
    began = time.monotonic()
    with web.open(url, "GET", sent) as answer:
        if reason := why_not(answer.status, answer.headers):
            noresults(f"left to the browser: {reason}")
        headers: dict[str, str] = {}
        for name, value in answer.headers.items():
            headers[name] = f"{headers[name]}\n{value}" if name in headers else value
        mime = essence_of(answer.headers["Content-Type"])  # found in any case, as in a dict it is not
        protocol = "http/1.1" if answer.version == 11 else "http/1.0"
        told = {"status": answer.status, "statusText": answer.reason, "headers": headers, "mimeType": mime}
        exchange.answered(told | {"protocol": protocol}, wire_headers=False)
        while data := answer.read(READ_SIZE):
            exchange.body.write(data)
    if not exchange.is_whole:
        noresults("left to the browser: it broke off")
    exchange.wire, exchange.seconds, exchange.complete = exchange.body.size, time.monotonic() - began, True
    return exchange


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    if visits_as_somebody(settings):
        noresults("left to the browser, which is known to sites")
    set_deadline(READ_TIME)
    try:
        exchange = fetch(hook.url, settings)
    except (OSError, ValueError, http.client.HTTPException, TimeIsOver) as error:
        noresults(f"left to the browser: {error}")
    set_deadline(0)
    cut_unfinished(".")
    info = {"software": "ArchiveBox", "format": "WARC File Format 1.1"}
    hidden = frozenset() if settings.bool("CHROME_SAVE_SECRETS") else OF_THE_SITE
    store = Store(new_name(), hidden, info, Addresses(os.environ.get("CRAWL_DIR", "")))
    store.save(exchange)
    store.close()
    write_atomically(MARK, json.dumps({"url": hook.url, "mime": exchange.mime}) + "\n")
    patch_snapshot(final_url=exchange.url, http_status=exchange.status, mime_type=exchange.mime)
    succeeded(INDEX, {"responses": store.count, "errors": store.errors, "bytes": store.size})


if __name__ == "__main__":
    main()
