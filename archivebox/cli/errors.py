"""The ways a command ends other than by finishing: wrong input, a signal, a terminal that is closed."""

import errno
import os
import signal
import stat
from collections.abc import Callable, Iterable
from typing import Any, TextIO, TypeVar


class BadInputError(Exception):
    """What was typed cannot be done; the message says what is wrong and what to do. Exit status 2."""


class FailedError(Exception):
    """What was asked for failed for a reason that people can mend; the message says which. Exit status 1."""


class StoppedError(BaseException):
    """A signal asked us to stop. Exit status 128 + its number."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        return 128 + self.signum


T = TypeVar("T")


def hang_up() -> None:
    """Raise StoppedError, as SIGHUP does; who started us under ``nohup`` wants us to go on.

    Told by that signal, or by a write that fails before it comes. Only once: the kernel sends it, and the shell again.
    """
    _silence_terminal()
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    raise StoppedError(signal.SIGHUP)


def _silence_terminal() -> None:
    """Writing to it fails: what is still said must not keep the end off the record."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        if stat.S_ISCHR(os.fstat(number).st_mode):
            os.dup2(nowhere, number)
    os.close(nowhere)


class TerminalStream:
    """A stream to whose terminal nothing can be written any more once that was closed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._unless_closed(self._stream.write, text) or len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def flush(self) -> None:
        self._unless_closed(self._stream.flush)

    def _unless_closed(self, act: Callable[..., T], *arguments: str) -> T | None:
        try:
            return act(*arguments)
        except OSError as error:
            if error.errno != errno.EIO or not stat.S_ISCHR(os.fstat(self._stream.fileno()).st_mode):
                raise
            hang_up()
            return None
