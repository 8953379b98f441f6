"""Whether a page that loads is at work itself, or only waits for the servers of others."""

from __future__ import annotations

import time

from archivebox.plugins.base.cdp import CommandFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import CDPConnection, Params

FIRST_LOOK = 0.1  # seconds after the navigation
LOOK_EVERY = 0.25  # seconds; a page that waits keeps the next one from its tab until two looks have found nothing
AT_WORK = 0.1  # of the time; of a page that waits it is under 0.01, of one that is being built 0.3 to 1
NEVER = float("inf")


class Idleness:
    """Looks at how long the thread of one page was at work, until that is next to nothing between two looks.

    It is asked for nothing else meanwhile, and answers from another thread, however busy it is. Performance.enable has
    to come before the navigation, during which such calls wait for the new document.
    """

    def __init__(self, connection: CDPConnection) -> None:
        self._connection = connection
        self._look_at = time.monotonic() + FIRST_LOOK
        self._asked = 0
        self._last: Params = {}

    def pause(self, now: float) -> float:
        """Return for how many seconds there is nothing to do here, unless the browser tells something."""
        return max(0.0, self._look_at - now)

    def is_found(self) -> bool:
        """Take what the browser has told, and look again when it is time; True once, as soon as the page waits."""
        if self._asked and (seen := self._seen()) is not None:
            self._asked, self._look_at = 0, time.monotonic() + LOOK_EVERY
            before, self._last = self._last, seen
            if is_idle(before, seen):
                self._look_at = NEVER
                return True
        if not self._asked and time.monotonic() >= self._look_at:
            self._asked, self._look_at = self._connection.begin("Performance.getMetrics"), NEVER
        return False

    def _seen(self) -> Params | None:
        """Return the numbers of the look that was asked for, None while there is no answer."""
        try:
            answer = self._connection.reply(self._asked)
        except CommandFailed:  # the page has just gone elsewhere
            return {}
        return None if answer is None else {metric["name"]: metric["value"] for metric in answer["metrics"]}


def is_idle(before: Params, now: Params) -> bool:
    """Say whether a page did next to nothing between two looks; not where one of them told nothing."""
    if not (before and now):
        return False
    at_work: float = now["TaskDuration"] - before["TaskDuration"]
    seconds: float = now["Timestamp"] - before["Timestamp"]
    return 0 <= at_work < AT_WORK * seconds
