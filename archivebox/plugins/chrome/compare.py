#!/usr/bin/env python3
"""Say how much pages look like their pictures, without a network: whoever asks gives all that they want.

A line of stdin is a page: `{"url": …, "sandbox": …, "picture": path}`. It is shown in a frame, as in the app, and no
script of it runs. Each address of its origin that it wants is a line of stdout, `{"type": "Asked", "url": …, "range":
…}`, answered by the next line of stdin: `{"status": 200, "headers": {…}, "body": base64}`, status 0 where there is
nothing. The page's last line is `{"type": "Compared", "alike": 0.98}`, or `{"type": "NotCompared", "sentence": …}`.
"""

from __future__ import annotations

import base64
import html
import json
import os
import subprocess
import sys
import tempfile
import time

from launch import PIPE, browser_pipe, find_chromium, flags
from likeness import UnreadableError, packed_alike, read_picture, share_alike

from archivebox.plugins.base import Settings, emit, misconfigured, start_program
from archivebox.plugins.base.cdp import CallTimeout, CDPError, CommandFailed, Connection, TargetGone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Self

LAUNCH_TIME = 30.0  # seconds until the browser must answer
SHOW_TIME = 10.0  # seconds after which a page is taken as it is
QUIET = 0.2  # seconds after its load in which nothing happens, until a page is taken
NOWHERE = "socks5://127.0.0.1:9"  # the port of what is thrown away (RFC 863)
FRAME = (
    '<!doctype html><link rel="icon" href="data:,"><body style="margin: 0"><iframe sandbox="%s" src="%s"'
    ' style="border: 0; display: block; width: 100vw; height: 100vh"></iframe>'
)


class Browser:
    """A browser of our own, which reaches nobody."""

    def __init__(self, settings: Settings) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="archivebox-compare-", ignore_cleanup_errors=True)
        command = [find_chromium(settings), *flags(settings, os.path.join(self._folder.name, "profile"))]
        with browser_pipe() as pipe:
            environment = {**os.environ, "TMPDIR": self._folder.name}
            self._program = start_program(command, env=environment, stderr=subprocess.DEVNULL, pass_fds=PIPE)
        self.connection = Connection(pipe)

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
        self._program.end(0.3)
        self._folder.cleanup()


class ShownPage:
    """One page, in a tab of its own."""

    def __init__(self, connection: Connection, url: str, sandbox: str, size: tuple[int, int]) -> None:
        self._connection, self._origin = connection, "/".join([*url.split("/")[:3], ""])
        self._frame = FRAME % (sandbox, html.escape(url))
        self._target = connection.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = connection.call("Target.attachToTarget", {"targetId": self._target, "flatten": True})
        self._session: str = attached["sessionId"]
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        calls: list[tuple[str, dict[str, Any]]] = [
            ("Page.enable", {}),
            ("Emulation.setScriptExecutionDisabled", {"value": True}),
            ("Emulation.setFocusEmulationEnabled", {"enabled": True}),  # as it was captured
            ("Emulation.setDeviceMetricsOverride", metrics),
            ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
        ]
        connection.call_all(calls, self._session)

    def load(self) -> None:
        """Give the page what it wants, until it has loaded and wants nothing more."""
        self._connection.send("Page.navigate", {"url": self._origin}, self._session)
        end = quiet_at = time.monotonic() + SHOW_TIME
        is_loaded = False
        while (left := min(end, quiet_at) - time.monotonic()) > 0:
            event = self._connection.next_event(left)
            if event is None or event.session != self._session:
                continue
            if event.method == "Fetch.requestPaused":
                self._give(event.params)
            is_loaded = is_loaded or event.method == "Page.loadEventFired"
            if is_loaded:
                quiet_at = time.monotonic() + QUIET

    def picture(self) -> bytes:
        options = {"format": "png", "optimizeForSpeed": True}
        answer = self._connection.call("Page.captureScreenshot", options, timeout=SHOW_TIME, session=self._session)
        return base64.b64decode(answer["data"])

    def close(self) -> None:
        self._connection.send("Target.closeTarget", {"targetId": self._target})

    def _give(self, paused: dict[str, Any]) -> None:
        """Answer one request: for the frame ourselves, for what is in it by asking, for all else not at all."""
        url, key = paused["request"]["url"], {"requestId": paused["requestId"]}
        if url == self._origin:
            body = base64.b64encode(self._frame.encode()).decode()
            said: dict[str, Any] = {"status": 200, "headers": {"content-type": "text/html"}, "body": body}
        elif url.startswith(self._origin):
            emit("Asked", url=url, range=paused["request"]["headers"].get("Range", ""))
            said = json.loads(sys.stdin.readline())
        else:
            said = {"status": 0}
        if not said["status"]:
            self._connection.send("Fetch.failRequest", key | {"errorReason": "Failed"}, self._session)
            return
        headers = [{"name": name, "value": value} for name, value in said["headers"].items()]
        answer = {"responseCode": said["status"], "responseHeaders": headers, "body": said["body"]}
        self._connection.send("Fetch.fulfillRequest", key | answer, self._session)


def compare(connection: Connection, url: str, sandbox: str, picture: str) -> float:
    """Return the share of its picture's pixels that a page shows alike. Raises UnreadableError and what `call` does."""
    kept = read_picture(picture)
    page = ShownPage(connection, url, sandbox, kept.size)
    try:
        page.load()
        return share_alike(kept, packed_alike(picture, read_picture(page.picture())))
    finally:
        page.close()


def main() -> None:
    os.environ["http_proxy"] = NOWHERE
    with Browser(Settings()) as browser:
        while line := sys.stdin.readline():
            try:
                emit("Compared", alike=compare(browser.connection, **json.loads(line)))
            except (UnreadableError, CommandFailed, CallTimeout) as error:
                emit("NotCompared", sentence=str(error))
            except TargetGone as error:
                misconfigured(f"Chromium is gone: {error}")


if __name__ == "__main__":
    main()
