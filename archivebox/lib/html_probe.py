"""Owns whether a stranger's HTML can be read: it is tried in a process that can be ended.

What parsers need grows with the square of a document's depth, of an element's attributes, and of formatting that is not
closed: 70 KB can become a tree of 3 GB, and no parser can be interrupted.
"""

import os
import struct
import subprocess
import sys
from pathlib import Path
from threading import Lock

SHORT = 4_096
"""Bytes that are read without a trial: the worst of them take 20 ms and 15 MB."""
LARGE = 4 * 1024 * 1024
"""Bytes after which the process is not used again: its memory stays large."""
LENGTH = struct.Struct("!Q")
"""What is sent before a document."""
PASSED = b"1"


class ParserLimitError(ValueError):
    """Reading this document would take too long, or too much memory."""


def check(text: str) -> None:
    """Raise ParserLimitError for HTML that parsers cannot read within limits. Blocks.

    For processes that nobody ends when they take too long.
    """
    if _trial.passes_all:
        return
    document = text.encode("utf-8", "replace")
    if len(document) > SHORT and not _trial.passes(document):
        raise ParserLimitError(
            "its elements are nested too deeply or closed incorrectly, so that parsing it would take too long"
        )


def disable_probe() -> None:
    """Have nothing tried any more: this process is itself one that is ended when it takes too much."""
    _trial.passes_all = True


class _Trial:
    """The process, started when it is needed; one document at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self.passes_all = False

    def passes(self, document: bytes) -> bool:
        with self._lock:
            passed = self._ask(self._running(), document) == PASSED
            if not passed or len(document) > LARGE:
                self._end()
            return passed

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._owner != os.getpid():  # that of the process that we were forked from
            program = Path(__file__).with_name("html_probe_main.py")
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for who asks; this one ends with its stdin
            )
            self._owner = os.getpid()
        return self._process

    def _ask(self, process: "subprocess.Popen[bytes]", document: bytes) -> bytes:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        try:
            process.stdin.write(LENGTH.pack(len(document)) + document)
            process.stdin.flush()
        except BrokenPipeError:
            return b""
        return process.stdout.read(1)

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


_trial = _Trial()
