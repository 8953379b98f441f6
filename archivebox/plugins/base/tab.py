"""The Snapshot's tab, as hooks that need the live page see it.

The tab holder (`chrome/on_Snapshot__20_chrome_tab`) writes `target.json`, the navigation writes `navigation.json`, both
in the `chrome` folder of the Snapshot. Whoever changes the page holds an exclusive lock (flock) on `target.json` while
at it, so that two hooks never disturb each other, whatever started them.

Every call has a deadline of its own, so that one which is never answered costs that and nothing behind it: a look
`PROBE`, an answer `CALL_TIMEOUT`, what takes long by nature what `LIMITS` says, longer on a busy machine, and none more
than its hook has left.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time

from archivebox.lib.machine_load import extended, is_busy
from archivebox.plugins import base
from archivebox.plugins.base.cdp import (
    CALL_TIMEOUT,
    CallTimeout,
    CDPConnection,
    CDPError,
    CommandFailed,
    TargetGone,
    TooLong,
)
from archivebox.plugins.base.hook import TimeIsOver, failed, page_lost, set_deadline, sibling, skipped, try_again

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, TextIO

    from archivebox.plugins.base.cdp import Params

MARGIN = 0.9  # of the hook's time: it ends by itself before the engine ends it
LAST_WORDS = 0.2  # seconds before that in which a call ends, which can say better what took so long
DRAWN_ELEMENTS_MAX = 50_000  # of a page that is drawn in its whole length: more take minutes and gigabytes
PROBE = 3.0  # seconds that an idle page may take to answer; a longer silence is a busy script
# Seconds for what takes long by nature, however much time its hook has. An ordinary page needs a tenth of it; one that
# needs more needs it the next time as well, so that such a call fails for good (TooLong).
LIMITS = {
    "Accessibility.getFullAXTree": 10.0,
    "DOMSnapshot.captureSnapshot": 10.0,
    "Page.captureScreenshot": 10.0,
    "Page.captureSnapshot": 20.0,
    "Page.printToPDF": 20.0,
}
FOREVER = float("inf")


class Navigation:
    """What became of the navigation: `navigation.json` as the navigate hook left it."""

    __slots__ = ("error", "final_url", "mime", "record", "refused", "static", "status", "transient")

    def __init__(self, record: Params) -> None:
        self.record = record
        self.error: str = record.get("error") or ""
        self.final_url: str = record.get("final_url") or ""
        self.mime: str = record.get("mime") or ""
        self.refused: str = record.get("refused") or ""  # the reason why what came is not the page
        self.static: bool = bool(record.get("static"))
        self.status: int = record.get("status") or 0
        self.transient: bool = bool(record.get("transient"))  # the error may pass by itself

    @classmethod
    def read(cls, folder: str) -> Navigation | None:
        """Read the navigation of the tab of `folder`; None where there was none yet."""
        record = read_json(os.path.join(folder, "navigation.json"))
        return cls(record) if record else None


class Tab:
    """A connection to the Snapshot's tab."""

    def __init__(self, connection: CDPConnection, record: Params, lock: TextIO, navigation: Navigation | None) -> None:
        self.connection, self.target_id, self._lock = connection, record["target_id"], lock
        self.socket: str = record["socket"]
        self._holder: tuple[int, int] = record["holder_pid"], record["holder_start_ticks"]
        self.navigation = navigation
        self.deadline = FOREVER  # of the hook, on the monotonic clock

    @classmethod
    def attach(cls, folder: str = "", *, read_only: bool = False) -> Tab:
        """Connect to the tab of `folder` (the sibling `chrome`) and take its lock, unless the hook only looks.

        Raises TargetGone at once where there is no tab or it has crashed, CallTimeout where the page answers nothing,
        not even after its script was stopped.
        """
        folder = folder or sibling("chrome")
        lock, record = _lock(folder, exclusive=not read_only)
        connection = CDPConnection.open(record["socket"], record["target_id"])
        connection.send("Inspector.enable")
        return cls(connection, record, lock, Navigation.read(folder))

    def call(self, method: str, params: Params | None = None, *, timeout: float = 0.0) -> Params:
        """Ask the browser; within `timeout` seconds, CALL_TIMEOUT unless told, but never beyond what LIMITS allows.

        Raises CommandFailed, CallTimeout (TooLong for what LIMITS names), TargetGone.
        """
        limit = LIMITS.get(method, FOREVER)
        seconds = extended(min(timeout or LIMITS.get(method, CALL_TIMEOUT), limit))
        seconds = min(seconds, self.deadline - time.monotonic())
        try:
            return self.connection.call(method, params, timeout=seconds)
        except CallTimeout as error:
            if method in LIMITS:
                raise TooLong(str(error)) from None
            raise

    def evaluate(self, expression: str, *, timeout: float = CALL_TIMEOUT, wait: bool = False) -> Any:
        """Return the value of a JavaScript expression (`wait`: of a promise). Raises CommandFailed if it throws."""
        answer = self.call(
            "Runtime.evaluate",
            {"expression": expression, "returnByValue": True, "awaitPromise": wait},
            timeout=timeout,
        )
        return script_value(answer)

    def count_elements(self) -> int:
        """How many elements the document has: printing and drawing very many takes minutes and gigabytes."""
        return int(self.evaluate("document.getElementsByTagName('*').length"))

    def make_answer(self, timeout: float = PROBE) -> None:
        """See that the page answers; a script that never returns is stopped first. Raises CallTimeout if that fails."""
        try:
            self.evaluate("1", timeout=timeout)
        except CallTimeout:
            self.report_busy_page()
            self.evaluate("1", timeout=timeout)

    def report_busy_page(self) -> None:
        """Have the holder stop the page's script, and close the tab if the page does not answer even then.

        Only the holder can: a busy page takes nothing of a client that came after the script began.
        """
        _tell(*self._holder)

    def close(self) -> None:
        """Let go of the tab (it stays open) and of its lock."""
        self.connection.close()
        self._lock.close()


class open_page:  # noqa: N801  (reads as the function it is used as)
    """`with open_page(timeout) as tab:` for a hook that needs the loaded page.

    Ends the hook by itself where there is nothing to do: skipped where the URL gave no web page; failed where the
    browser took longer for one thing than LIMITS allows; again later where the time (seconds, of the whole hook) is
    over; again on a new page, for nothing, where this one, its tab or the browser is gone.
    """

    def __init__(self, timeout: float, *, read_only: bool = False) -> None:
        self._read_only = read_only
        self._deadline = time.monotonic() + extended(timeout * MARGIN) - LAST_WORDS
        set_deadline(timeout * MARGIN)

    def __enter__(self) -> Tab:
        try:
            _require_page(Navigation.read(sibling("chrome")))
            self._tab = Tab.attach(read_only=self._read_only)
            self._tab.make_answer()
            _require_reachable_page(self._tab)
        except (TargetGone, CallTimeout) as error:
            page_lost(f"The page cannot be reached: {error}")
        except (CDPError, TimeIsOver) as error:
            try_again(f"The page cannot be reached: {error}")
        if self._tab.navigation is None:
            try_again("The page has not been navigated to yet: the chrome plugin's hooks have to run first.")
        self._tab.deadline = self._deadline
        return self._tab

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_deadline(0)
        try:
            if isinstance(error, (CallTimeout, TimeIsOver)):
                self._tab.report_busy_page()  # whoever comes next finds a page that answers, or a new one
        except TargetGone as gone:
            error = gone
        self._tab.close()
        if isinstance(error, TargetGone):
            page_lost(f"The page was lost on the way: {error}")
        if isinstance(error, TooLong) and is_busy():
            try_again(f"The page is too much for the browser on a busy machine: {error}")
        if isinstance(error, TooLong):
            failed(f"the page is too much for the browser: {error}")
        if isinstance(error, (CDPError, TimeIsOver)):
            try_again(f"The page did not do what was asked: {error}")


def _require_page(navigation: Navigation | None) -> None:
    """End the hook where the navigation found none."""
    if navigation is None:
        return
    if navigation.error and navigation.transient:
        try_again(f"The page did not load: {navigation.error}", reason="nothing_came")
    if navigation.error:
        skipped(f"the page did not load: {navigation.error}")
    if navigation.static:
        skipped(f"not a web page but a file: {navigation.mime or 'a download'}")


def _require_reachable_page(tab: Tab) -> None:
    """Raise TargetGone where the page has gone to a host that is not there: what the browser shows then is its own."""
    if tab.evaluate("location.protocol") == "chrome-error:":
        raise TargetGone("it went on to a host that does not answer")


def script_value(answer: Params) -> Any:
    """Return the value in an answer of the Runtime domain. Raises CommandFailed where the script threw."""
    if "exceptionDetails" in answer:
        details = answer["exceptionDetails"]
        raise CommandFailed(details.get("exception", {}).get("description", details.get("text", "script error")))
    return answer["result"].get("value")


def read_json(path: str) -> Params | None:
    """Return the JSON object in a file, None where there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            record: Params = json.load(file)
    except FileNotFoundError:
        return None
    return record


def _tell(holder: int, ticks: int) -> None:
    """Send USR1 to exactly that process, where the system can (Linux): it ends whoever does not know it."""
    if not hasattr(signal, "pidfd_send_signal"):
        return
    descriptor = base.open_process(holder, ticks)
    if descriptor is None:
        raise TargetGone("the tab's holder is gone")
    try:
        signal.pidfd_send_signal(descriptor, signal.SIGUSR1)
    finally:
        os.close(descriptor)


def _lock(folder: str, *, exclusive: bool) -> tuple[TextIO, Params]:
    """Open `target.json`, wait for its lock (`set_deadline` limits that), and return it with what it says."""
    path = os.path.join(folder, "target.json")
    while True:
        try:
            file = open(path, "r+", encoding="utf-8")  # noqa: SIM115  (held as long as the tab is used)
        except FileNotFoundError:
            raise TargetGone("no tab is open for this Snapshot") from None
        if exclusive:
            fcntl.flock(file, fcntl.LOCK_EX)
        if _is_still(path, file):
            return file, json.load(file)
        file.close()  # the holder opened another tab while we waited


def _is_still(path: str, file: TextIO) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
