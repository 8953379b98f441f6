"""Owns what happens when the terminal of a command is closed: nothing more is written to it, and the command ends."""

import errno
import os
import signal
import stat
from collections.abc import Callable, Iterable
from typing import Any, TextIO, TypeVar

from archivebox.cli.errors import StoppedError

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
