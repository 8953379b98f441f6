"""A browser that was started ahead for the next crawl (decision 0129): how its hook takes it from who started it.

Between them is a socket. Whoever is at its other end has the browser, which is ended once nobody is there any more.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket

from browser import Browser
from browser_profile import is_fresh
from launch import find_chromium, flags

from archivebox.plugins.base import Settings, log
from archivebox.plugins.base.cdp import CDPConnection, CDPError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params

SOCKET = "SPARE_SOCKET"  # the descriptor by which the engine leads both to each other
TAKE, REFUSE = b"take", b"refuse"  # what the hook says there
STOPPED = b"stopped"  # what is answered once all processes of the browser have been killed
TAKE_TIME = 2.0  # seconds for an answer; it takes 5 ms
END_TIME = 3.0  # seconds for it to be killed by its parent; it takes 0.01
ANSWER_MAX = 1 << 16  # bytes: mostly flags


class UnusableError(Exception):
    """It is gone, or does not answer."""


class UnlikeError(UnusableError):
    """It is not the one that would be started now, and the next one would not be, either."""


class TakenBrowser(Browser):
    """The browser, as the crawl's hook has it. Its parent is another process, without which it ends, too."""

    def __init__(self, parent: socket.socket, settings: Settings) -> None:
        self.parent = parent
        facts, descriptors = ask(parent)
        pipe, self._process = descriptors
        self.pipe = socket.socket(fileno=pipe)
        self.pid, self.command, self.profile = facts["pid"], facts["command"], facts["profile"]
        self.folder, self.folder_in_memory = facts["folder"], facts["folder_in_memory"]
        self.first_tab: str = facts["tab"]
        if not is_fresh(settings) or self.command != [find_chromium(settings), *flags(settings, self.profile)]:
            raise UnlikeError("it was started with other flags, or on another profile")
        try:
            self._version = CDPConnection(self.pipe).call("Browser.getVersion", timeout=TAKE_TIME)
        except CDPError as error:
            raise UnusableError(str(error)) from error

    def version(self) -> dict[str, str]:
        return self._version

    def kill(self) -> None:
        """End it at once: its parent is gone."""
        try:
            signal.pidfd_send_signal(self._process, signal.SIGKILL)
        except ProcessLookupError:
            return

    def end(self) -> None:
        """Let go of it, and wait until its parent has killed it, which then tidies up; else do both here."""
        self.parent.shutdown(socket.SHUT_WR)  # before the pipe is closed: of that it takes 0.15 s longer to leave
        if not self._is_stopped_by_parent():
            log("the browser is killed: the process that started it does not end it")
            self.kill()
            self.remove_folders()
        self.pipe.close()
        self.parent.close()

    def _is_stopped_by_parent(self) -> bool:
        """Wait for the parent to say so; False where it is gone, or takes too long."""
        self.parent.settimeout(END_TIME)
        try:
            return self.parent.recv(ANSWER_MAX) == STOPPED
        except OSError:
            return False


def ask(parent: socket.socket) -> tuple[Params, list[int]]:
    """Ask for the browser; returns what is known of it, and descriptors of its pipe and its process."""
    parent.settimeout(TAKE_TIME)
    try:
        parent.send(TAKE)
        while True:  # that it is ready may have been said before, and not been read
            answer, descriptors, _, _ = socket.recv_fds(parent, ANSWER_MAX, 2)
            if len(descriptors) == 2:
                return json.loads(answer), list(descriptors)
            if not answer:
                raise UnusableError("it has ended")
    except OSError as error:
        raise UnusableError(str(error) or type(error).__name__) from error


def take_spare(settings: Settings) -> TakenBrowser | None:
    """Return the browser that was started ahead for this crawl; None where there is none that would do."""
    number = os.environ.pop(SOCKET, "")
    if not number:
        return None
    parent = socket.socket(fileno=int(number))
    os.set_inheritable(parent.fileno(), False)
    try:
        return TakenBrowser(parent, settings)
    except UnusableError as error:
        log(f"the browser that was started ahead is not used: {error}")
        with contextlib.suppress(OSError):
            parent.send(REFUSE if isinstance(error, UnlikeError) else b"")
        parent.close()
        return None
