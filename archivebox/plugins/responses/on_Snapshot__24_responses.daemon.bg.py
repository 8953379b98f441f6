#!/usr/bin/env python3
"""Keep every answer that the tab gets, with its body, from before the first request until the tab is closed.

The only one that takes bodies from the browser: it gives them to the connection that listened, and to nobody else.
"""

from __future__ import annotations

import os
import select
import time

from recorder import Recorder, RecorderLimits
from recorder.addresses import Addresses
from recorder.files import ResponseFiles
from recorder.sockets import Sockets
from recorder.store import Store, cut_unfinished, new_name

from archivebox.plugins.base import Settings, StopRequest, extended, failed, ready, sibling, succeeded, try_again
from archivebox.plugins.base.cdp import CDPConnection, CDPError, TargetGone
from archivebox.plugins.base.engine import end_with_engine
from archivebox.plugins.base.responses import INDEX
from archivebox.plugins.base.tab import read_json

OF_THE_SITE = frozenset({"set-cookie"})  # names whoever archives as much as the cookie that comes back
SOCKETS_MAX = 16_000_000  # bytes of a page's WebSocket messages
MESSAGE_TIME = 1.0  # seconds for the rest of a message that has begun
LAST_ANSWERS = 0.5  # seconds after TERM for bodies that have been asked for, on an idle machine
FILE_TIME = 5.0  # seconds that a navigation waits for the file that it leads to
STOP_TIME = 1.0  # seconds between the end of the tab and the TERM that says that it was meant


def record(recorder: Recorder, connection: CDPConnection, stop: StopRequest) -> str:
    """Take what is told until told to stop; return why it ended before that, '' where it did not."""
    sources: list[CDPConnection | StopRequest] = [connection, stop]
    try:
        while not stop:
            if connection.pending or connection in select.select(sources, [], [])[0]:
                handle_next(recorder, connection, MESSAGE_TIME)
        deadline = time.monotonic() + extended(LAST_ANSWERS)
        while recorder.is_waiting and (left := deadline - time.monotonic()) > 0:
            handle_next(recorder, connection, left)
    except TargetGone as error:
        meant = select.select([stop], [], [], STOP_TIME)[0]
        return "" if meant else str(error)
    return ""


def handle_next(recorder: Recorder, connection: CDPConnection, timeout: float) -> None:
    """Take the next event, after the answers that came before it: what has been buffered precedes what is streamed."""
    event = connection.next_event(timeout)
    recorder.receive_replies()
    if event is not None:
        recorder.handle_event(event)


def main() -> None:
    stop = StopRequest()
    end_with_engine()
    settings = Settings()
    wait = min(FILE_TIME, settings.float("CHROME_PAGELOAD_TIMEOUT") / 2 or FILE_TIME)
    limits = RecorderLimits(settings.size("RESPONSES_MAX_SIZE"), settings.size("RESPONSES_MAX_FILE_SIZE"), wait)
    target = read_json(os.path.join(sibling("chrome"), "target.json"))
    if target is None:
        try_again("No tab is open for this Snapshot: the chrome plugin's hooks have to run first.")
    cut_unfinished(".")
    hidden = frozenset(target["hidden_headers"])
    info = {"software": "ArchiveBox", "browser": target["browser"], "format": "WARC File Format 1.1"}
    files = ResponseFiles() if settings.bool("RESPONSES_FILES") else None
    store = Store(
        new_name(), hidden | OF_THE_SITE if hidden else hidden, info, Addresses(os.environ.get("CRAWL_DIR", "")), files
    )
    sockets = Sockets(SOCKETS_MAX)
    try:
        connection = CDPConnection.open(target["socket"])
        recorder = Recorder(connection, target["target_id"], store, limits, sockets)
        recorder.listen()
    except CDPError as error:
        try_again(f"The tab cannot be listened to: {error}")
    ready()
    lost = record(recorder, connection, stop)
    recorder.finish()
    store.close()
    if lost:
        try_again(f"The tab is lost: {lost}")
    summary = {"responses": store.count, "errors": store.errors, "bytes": store.size}
    if store.is_empty_page:
        failed("nothing is in the page's own document", summary, reason="no_page")
    if lacking := len(recorder.cut_off.lacking):
        they = "file of the page was" if lacking == 1 else "files of the page were"
        sentence = f"{lacking:,} {they} not there when its loading was stopped, and did not come afterwards"
        succeeded(sentence, summary | {"lacking": lacking}, reason="files_missing")
    succeeded(INDEX, summary)


if __name__ == "__main__":
    main()
