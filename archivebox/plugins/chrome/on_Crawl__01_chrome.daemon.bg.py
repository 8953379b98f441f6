#!/usr/bin/env python3
"""Launch Chromium once for a crawl on this machine, keep watch over it and its tabs, and end it on TERM.

Others find it through `session.json` in this hook's folder. A tab belongs to the process named in its first address
(`about:blank#archivebox-<pid>-<start ticks>`): when that process is gone, its tab is closed here.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import time

from archivebox.plugins.base import (
    Program,
    Settings,
    StopRequest,
    log,
    ready,
    start_program,
    try_again,
    write_atomically,
)
from archivebox.plugins.base.cdp import CDPError, Connection
from archivebox.plugins.base.files import remove
from archivebox.plugins.base.programs import open_process, start_ticks
from archivebox.plugins.base.tab import read_json
from archivebox.plugins.chrome.launch import find_chromium, flags

SESSION = "session.json"
FOLDER_PREFIX = "archivebox-chrome-"
SOCKET = f"/{FOLDER_PREFIX}12345678/org.chromium.Chromium.123456/SingletonSocket"
LAUNCH_TIME = 20.0  # seconds until the debugging port must be there; it takes 0.15 on an idle machine
CLOSE_TIME = 1.0  # seconds for Browser.close before the tree is ended
HOLDER = re.compile(r"^about:blank#archivebox-(\d+)-(\d+)$")
LISTENING = re.compile(rb"DevTools listening on (ws://\S+)")


class Browser:
    """Chromium, its temporary folder (profile included) and the connection over which it is watched."""

    def __init__(self, settings: Settings) -> None:
        binary = find_chromium(settings)
        self.folder = tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=short_temporary_folder())
        try:
            own = settings.path("CHROME_USER_DATA_DIR")
            self.keeps_profile = bool(own)
            profile = own or os.path.join(self.folder, "profile")
            command = [binary, *flags(settings, profile)]
            self.sandbox = "--no-sandbox" not in command
            # Its temporary files go into our folder, so that they are gone with it even when it was killed.
            environment = {**os.environ, "TMPDIR": self.folder}
            self.program: Program = start_program(command, env=environment, stderr=subprocess.PIPE)
        except BaseException:
            remove_folder(self.folder)
            raise
        self.stderr = self.program.popen.stderr
        self.connection: Connection | None = None

    def connect(self) -> dict[str, object]:
        """Wait for the debugging port; return what others need to know."""
        url = self._wait_for_url()
        self.connection = Connection(url)
        version = self.connection.call("Browser.getVersion")
        self.connection.call("Target.setDiscoverTargets", {"discover": True})
        return {
            "ws_url": url,
            "port": int(url.split(":")[2].split("/")[0]),
            "pid": self.program.pid,
            "start_ticks": start_ticks(self.program.pid),
            "version": version["product"],
            "user_agent": version["userAgent"],
            "folder": self.folder,
            "sandbox": self.sandbox,
        }

    def _wait_for_url(self) -> str:
        deadline, text = time.monotonic() + LAUNCH_TIME, b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.stderr, selectors.EVENT_READ)
            while selector.select(max(0.0, deadline - time.monotonic())):
                chunk = os.read(self.stderr.fileno(), 65536)
                text += chunk
                if found := LISTENING.search(text):
                    return found[1].decode()
                if not chunk:
                    break
        log(text.decode("utf-8", "replace")[-4000:])
        raise CDPError(
            "Chromium did not start; its own words are above. If they speak of a sandbox: CHROME_SANDBOX=false."
        )

    def end(self) -> None:
        """End its tree and remove its folder; where its profile is somebody's and stays, ask it to close first."""
        if self.keeps_profile and self.connection is not None and self.program.popen.poll() is None:
            try:
                self.connection.send("Browser.close")
                self.program.popen.wait(CLOSE_TIME)
            except (CDPError, subprocess.TimeoutExpired) as error:
                log(f"Chromium did not close by itself: {error}")
        self.program.end(0.3)  # TERM: 0.04 s instead of 0.14
        remove_folder(self.folder)


class Watch:
    """Tabs and the processes that hold them, by a pidfd each; a holder's end closes its tab."""

    def __init__(self, connection: Connection, selector: selectors.BaseSelector) -> None:
        self._connection, self._selector = connection, selector
        self._holders: dict[str, int] = {}
        self._opened_by: dict[str, str] = {}

    def take_events(self) -> None:
        """Take what the browser told; at least one message is there to be read."""
        while True:
            event = self._connection.next_event(1.0)
            if event is not None and event.method in ("Target.targetCreated", "Target.targetInfoChanged"):
                self._look_at(event.params["targetInfo"])
            elif event is not None and event.method == "Target.targetDestroyed":
                self._forget(event.params["targetId"])
            if not self._connection.pending:
                return

    def holder_gone(self, target: str) -> None:
        log(f"closing tab {target}: its holder is gone")
        self._forget(target)
        for each in (target, *(popup for popup, opener in self._opened_by.items() if opener == target)):
            self._connection.send("Target.closeTarget", {"targetId": each})

    def _look_at(self, info: dict[str, str]) -> None:
        if "openerId" in info:
            self._opened_by[info["targetId"]] = info["openerId"]
        held = HOLDER.match(info["url"])
        if not held or info["targetId"] in self._holders:
            return
        descriptor = open_process(int(held[1]), int(held[2]))
        if descriptor is None:
            self.holder_gone(info["targetId"])
            return
        self._holders[info["targetId"]] = descriptor
        self._selector.register(descriptor, selectors.EVENT_READ, info["targetId"])

    def _forget(self, target: str) -> None:
        descriptor = self._holders.pop(target, None)
        if descriptor is not None:
            self._selector.unregister(descriptor)
            os.close(descriptor)


def keep_watch(browser: Browser, stop: StopRequest) -> int:
    """Serve until told to stop (0) or until the browser has ended (1)."""
    with selectors.DefaultSelector() as selector:
        watch = Watch(browser.connection, selector)
        ended = os.pidfd_open(browser.program.pid)
        for source in (stop, browser.connection, browser.stderr, ended):
            selector.register(source, selectors.EVENT_READ)
        while not stop:
            for key, _ in selector.select():
                if key.fileobj == ended:
                    log("Chromium has ended without being told to")
                    return 1
                if key.fileobj is browser.connection:
                    watch.take_events()
                elif key.fileobj is browser.stderr:
                    if not pass_on(browser.stderr.fileno()):
                        selector.unregister(browser.stderr)
                elif key.data is not None:
                    watch.holder_gone(key.data)
    return 0


def pass_on(descriptor: int) -> bool:
    """Hand the browser's words to our standard error; False at their end."""
    chunk = os.read(descriptor, 65536)
    sys.stderr.buffer.write(chunk)
    sys.stderr.buffer.flush()
    return bool(chunk)


def short_temporary_folder() -> str:
    """Return TMPDIR unless it is too long: Chromium puts a socket below it, and its address has 107 bytes (unix(7))."""
    folder = tempfile.gettempdir()
    return folder if len(os.fsencode(folder)) + len(SOCKET) <= 107 else "/tmp"  # noqa: S108  (mkdtemp follows)


def remove_folder(folder: str) -> None:
    """Remove a folder that a hook of ours made; a last cache file may appear while we do."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.exists(folder):
        shutil.rmtree(folder, ignore_errors=True)


def clear_former_session() -> None:
    """Remove what a predecessor that was killed has left: its folder and its session file."""
    former = read_json(SESSION) or {}
    folder = str(former.get("folder", ""))
    if os.path.basename(folder).startswith(FOLDER_PREFIX):
        remove_folder(folder)
    remove(SESSION)


def main() -> None:
    stop = StopRequest()
    clear_former_session()
    browser = Browser(Settings())
    code = 1
    try:
        write_atomically(SESSION, json.dumps(browser.connect(), indent=2) + "\n")
        ready()
        code = keep_watch(browser, stop)
    except CDPError as error:
        try_again(str(error))
    finally:
        remove(SESSION)
        browser.end()
    raise SystemExit(code)


if __name__ == "__main__":
    main()
