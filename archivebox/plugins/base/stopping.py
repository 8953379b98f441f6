"""When a hook has to end: on a signal, or because its time is over."""

from __future__ import annotations

import os
import signal
import sys

from archivebox.lib.machine_load import extended, seconds_delayed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


class TimeIsOver(BaseException):
    """The hook's own time is over. Not an Exception: nothing on the way may take it for an ordinary failure."""


def on_stop(callback: Callable[[], object]) -> None:
    """Call `callback` on the first TERM or INT, then exit with 0; later ones are ignored, since the end is under way.

    The callback runs in the main thread between two instructions and should be quick: print the final record
    (`succeeded(…)` ends the process itself) or raise, to unwind to a place that knows how to clean up.
    """

    def handle(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001  (the signature is the signal module's)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        callback()
        sys.exit(0)

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)


class StopRequest:
    """TERM and INT as something to wait for: readable (for selectors) once asked to stop; true from then on.

    For hooks that work until told to stop: nothing is interrupted in the middle, the loop sees it and winds down.
    """

    def __init__(self) -> None:
        self._asked = False
        self._reader, self._writer = os.pipe()
        signal.signal(signal.SIGTERM, self._handle)
        signal.signal(signal.SIGINT, self._handle)

    def __bool__(self) -> bool:
        return self._asked

    def fileno(self) -> int:
        return self._reader

    def _handle(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if not self._asked:
            self._asked = True
            os.write(self._writer, b".")


def set_deadline(seconds: float) -> None:
    """Raise TimeIsOver in the main thread after `seconds`, whatever it waits for then; 0 takes the deadline back.

    On a busy machine it is later, as the engine's own deadline is.
    """
    seconds = max(seconds, 0.0)
    allowed, before = extended(seconds), seconds_delayed()

    def time_is_over(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
        nonlocal allowed
        more = extended(seconds, seconds_delayed() - before) - allowed
        if more <= 0:
            raise TimeIsOver("the time of this hook is over")
        allowed += more
        signal.setitimer(signal.ITIMER_REAL, more)

    signal.signal(signal.SIGALRM, time_is_over)
    signal.setitimer(signal.ITIMER_REAL, allowed)
