#!/usr/bin/env python3
"""Measure how much of pages their replay shows, without a network: whoever asks gives all that the pages want.

    compare.py CHANNEL [--idle]

Both speak over CHANNEL, the number of a socket, in JSON lines. `{"type": "Ready"}` comes first. A page is `{"replay":
…, "scripted": …, "copies": {name: …}, "picture": path, "words": path}`: its replay, its replay with scripts or null,
saved copies, each as a pair of address and sandbox; and the picture that was kept of it, and the words that it showed,
or "". Each is shown in a frame, as in the app; scripts run in "scripted" alone, which is shown, as copies are, where
something lacks in the replay. What a page wants of its origin is a line to whoever asks,
`{"type": "Asked", "url": …, "kind": …, "method": …, "headers": {…}, "body": base64}`, answered by `{"status": 200,
"headers": {…}, "body": base64}`, status 0 where there is nothing. Lines about the page are `{"type": "Replayed",
"tiles": [same, of], "words": [found, of]}`, then `{"type": "Compared", "scripted": {…}, "copies": {name: {…}}}` with
the same of these or null. Or `{"type": "NotCompared", "sentence": …}`.

`--idle`: everything else that runs on this machine goes first.
"""

from __future__ import annotations

import base64
import html
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

from launch import PIPE, browser_pipe, find_chromium, flags, make_folder, remove_folder, window
from likeness import UnreadableError, packed_alike, read_picture, tiles_alike
from memory import LOOK_AGAIN, MB, end_large_renderers

from archivebox.plugins.base import Settings, emit, log, misconfigured, start_program
from archivebox.plugins.base.cdp import CallTimeout, CDPConnection, CDPError, CommandFailed, TargetGone
from archivebox.plugins.base.visible_words import CAPTURE, OPTIONS, visible_words, words_found

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self, TypeAlias

    Shown: TypeAlias = tuple[str, str]  # address and sandbox
    Look: TypeAlias = tuple[Counter[str], bytes]
    Counts: TypeAlias = dict[str, tuple[int, int]]  # of words and tiles: how many are there, and of how many

LAUNCH_TIME = 30.0  # seconds until the browser must answer
SHOW_TIME = 20.0  # seconds in which a page must have loaded
PICTURE_TIME = 20.0  # seconds in which it must be drawn, or its words told
QUIET = 0.2  # seconds after its load in which nothing happens, until a page is taken
QUIET_OF_SCRIPTS = 1.0  # the same of a page whose scripts run
QUIET_OF_MEDIA = 2.0  # the same of a page with a video: its controls turn for a second after it has loaded
OUTER = "~/frame"  # the path of the page around the frame, which no replay has
TOLD = ("referer", "range", "archived-document")  # headers by which answers differ
LOWEST = 19  # nice(2): whoever else wants the processor has it
NOWHERE = "socks5://127.0.0.1:9"  # the port of what is thrown away (RFC 863)
FRAME = (
    '<!doctype html><link rel="icon" href="data:,"><body style="margin: 0"><iframe sandbox="%s" src="%s"'
    ' style="border: 0; display: block; width: 100vw; height: 100vh"></iframe>'
)


class SlowPageError(Exception):
    """A page that did not load in time; the message is a sentence."""


class IsolatedBrowser:
    """A browser of our own, which reaches nobody."""

    def __init__(self, settings: Settings) -> None:
        self._folder, self._lock = make_folder()
        os.chdir(self._folder)  # where it is written down that a page was ended for its memory
        command = [find_chromium(settings), *flags(settings, os.path.join(self._folder, "profile"))]
        with browser_pipe() as pipe:
            environment = {**os.environ, "TMPDIR": self._folder}
            self._program = start_program(command, env=environment, stderr=subprocess.DEVNULL, pass_fds=PIPE)
        self.connection = CDPConnection(pipe)
        self.window = window(settings)
        self.memory_max = settings.int("CHROME_MEMORY_MAX") * MB

    def __enter__(self) -> Self:
        try:
            self.connection.call("Browser.getVersion", timeout=LAUNCH_TIME)
        except CDPError as error:
            misconfigured(f"Chromium did not start: {error}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.close()
        self._program.kill()  # with time to leave it may start a process that makes the folder anew
        self._program.end()
        os.chdir(os.sep)
        remove_folder(self._folder)
        os.close(self._lock)

    def end_large_renderers(self) -> None:
        end_large_renderers(self.connection.call("SystemInfo.getProcessInfo"), self.memory_max)


class ComparedPage:
    """One page, in a tab of its own."""

    def __init__(self, browser: IsolatedBrowser, shown: Shown, size: tuple[int, int], *, scripts: bool = False) -> None:
        url, sandbox = shown
        self._browser, self._connection = browser, browser.connection
        self._origin = "/".join([*url.split("/")[:3], ""])
        self._quiet = QUIET_OF_SCRIPTS if scripts else QUIET
        self._frame = FRAME % (sandbox, html.escape(url))
        self._target = self._connection.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._connection.call("Target.attachToTarget", {"targetId": self._target, "flatten": True})
        self._session: str = attached["sessionId"]
        self._connection.tab = self._session
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        calls: list[tuple[str, dict[str, Any]]] = [
            ("Page.enable", {}),
            ("Inspector.enable", {}),  # tells when the tab crashes
            ("Emulation.setScriptExecutionDisabled", {"value": not scripts}),
            ("Emulation.setFocusEmulationEnabled", {"enabled": True}),  # as it was captured
            ("Emulation.setDeviceMetricsOverride", metrics),
            ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
        ]
        self._connection.call_all(calls, self._session)

    def load(self) -> None:
        """Give the page what it wants, until it has loaded and wants nothing more. SlowPageError."""
        self._connection.send("Page.navigate", {"url": self._origin + OUTER}, self._session)
        end = quiet_at = time.monotonic() + SHOW_TIME
        look_at = time.monotonic() + LOOK_AGAIN
        is_loaded = False
        while (left := min(end, quiet_at) - time.monotonic()) > 0:
            event = self._connection.next_event(min(left, LOOK_AGAIN))
            if time.monotonic() >= look_at:
                self._browser.end_large_renderers()
                look_at = time.monotonic() + LOOK_AGAIN
            if event is None or event.session != self._session:
                continue
            if event.method == "Fetch.requestPaused":
                self._answer_request(event.params)
            is_loaded = is_loaded or event.method == "Page.loadEventFired"
            if is_loaded:
                quiet_at = time.monotonic() + self._quiet
        if not is_loaded:
            raise SlowPageError(f"Its replay did not load within {SHOW_TIME:.0f} seconds.")

    def picture(self) -> bytes:
        options = {"format": "png", "optimizeForSpeed": True}
        answer = self._connection.call("Page.captureScreenshot", options, timeout=PICTURE_TIME, session=self._session)
        return base64.b64decode(answer["data"])

    def words(self) -> Counter[str]:
        return visible_words(self._connection.call(CAPTURE, OPTIONS, timeout=PICTURE_TIME, session=self._session))

    def close(self) -> None:
        self._connection.tab = ""
        self._connection.send("Target.closeTarget", {"targetId": self._target})

    def _answer_request(self, paused: dict[str, Any]) -> None:
        """Answer one request: for the frame ourselves, for what is in it by asking, for all else not at all."""
        request, key = paused["request"], {"requestId": paused["requestId"]}
        if paused["resourceType"] == "Media":
            self._quiet = QUIET_OF_MEDIA
        url = request["url"]
        if url == self._origin + OUTER:
            body = base64.b64encode(self._frame.encode()).decode()
            said: dict[str, Any] = {"status": 200, "headers": {"content-type": "text/html"}, "body": body}
        elif url.startswith(self._origin):
            headers = {name: value for name, value in request["headers"].items() if name.lower() in TOLD}
            sent = base64.b64encode(request.get("postData", "").encode()).decode()
            emit("Asked", url=url, kind=paused["resourceType"], method=request["method"], headers=headers, body=sent)
            said = _next_line() or {"status": 0}
        else:
            said = {"status": 0}
        if not said["status"]:
            self._connection.send("Fetch.failRequest", key | {"errorReason": "Failed"}, self._session)
            return
        fields = [{"name": name, "value": value} for name, value in said["headers"].items()]
        answer = {"responseCode": said["status"], "responseHeaders": fields, "body": said["body"]}
        self._connection.send("Fetch.fulfillRequest", key | answer, self._session)


def _next_line() -> dict[str, Any]:
    """What whoever asks says next; this process ends where nobody does any more."""
    line = sys.stdin.readline()
    if not line:
        raise SystemExit(0)
    said: dict[str, Any] = json.loads(line)
    return said


def read_words(path: str) -> Counter[str]:
    """Return the words in a file of `dom`."""
    try:
        with open(path, encoding="utf-8") as file:
            return Counter(json.load(file))
    except (OSError, ValueError) as error:
        raise UnreadableError(f"The words that were kept of it cannot be read: {error}") from None


def compare(
    browser: IsolatedBrowser,
    *,
    replay: Shown,
    scripted: Shown | None,
    copies: dict[str, Shown],
    picture: str,
    words: str,
) -> None:
    """Count the words and tiles of both replays that are there, and of copies."""
    kept = read_picture(picture) if picture else None
    size = kept.size if kept is not None else browser.window
    wanted = read_words(words) if words else None

    def counted(shown: Shown, *, scripts: bool = False) -> Counts:
        there, seen = _look(browser, shown, size, scripts=scripts)
        counts = {} if wanted is None else {"words": words_found(wanted, there)}
        if kept is not None:
            counts["tiles"] = tiles_alike(kept, packed_alike(picture, read_picture(seen)))
        return counts

    def counted_if_shown(name: str, shown: Shown, *, scripts: bool = False) -> Counts | None:
        try:
            return counted(shown, scripts=scripts)
        except (SlowPageError, CommandFailed, CallTimeout) as error:
            log(f"{name} was not measured: {error}")
            return None

    counts = counted(replay)
    emit("Replayed", **counts)
    lacks = any(found < of for found, of in counts.values())
    counted_copies = {name: counted_if_shown(name, copy) or {} for name, copy in copies.items() if lacks}
    with_scripts = counted_if_shown("scripted", scripted, scripts=True) if scripted is not None and lacks else None
    emit("Compared", scripted=with_scripts, copies=counted_copies)


def _look(
    browser: IsolatedBrowser, shown: Shown, size: tuple[int, int], *, scripts: bool = False
) -> tuple[Counter[str], bytes]:
    """The words of a page that can be seen, and its picture."""
    page = ComparedPage(browser, shown, size, scripts=scripts)
    try:
        page.load()
        return page.words(), page.picture()
    finally:
        page.close()


def _end(_signum: int, _frame: object) -> None:
    """Told to end: the browser ends, and its folder goes, on the way out."""
    raise SystemExit(0)


def main() -> None:
    channel, *options = sys.argv[1:]
    if "--idle" in options:
        os.nice(LOWEST)
    for stream in (0, 1):
        os.dup2(int(channel), stream)
    os.close(int(channel))
    signal.signal(signal.SIGTERM, _end)
    os.environ["http_proxy"] = NOWHERE
    with IsolatedBrowser(Settings()) as browser:
        emit("Ready")
        while True:
            try:
                compare(browser, **_next_line())
            except (UnreadableError, SlowPageError, CommandFailed, CallTimeout) as error:
                emit("NotCompared", sentence=str(error))
            except TargetGone as error:
                misconfigured(f"Its replay ended the browser: {error}")


if __name__ == "__main__":
    main()
