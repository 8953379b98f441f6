"""Owns reading strangers' documents for their title, text and the URLs they name: in a process that can be ended."""

import json
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import ada_url

from archivebox.lib.module_process import module_process

DOCUMENT_MOST = 64 << 20
"""Bytes of a document; a page above that is no text for people."""
LARGE = 4 << 20
"""Bytes after which the process is not used again: its memory stays large."""
_PROGRAM = "archivebox.imports.document_main"


@dataclass(frozen=True, slots=True)
class DocumentContent:
    """What was found in one document; ``is_readable``: False where that would have taken too long, or too much memory.

    ``names``: how it names what it shows, relative to ``base``; ``frames`` are among them. ``canonical``: the address
    that it says is its own.
    """

    title: str = ""
    text: str = ""
    names: Sequence[str] = ()
    frames: Sequence[str] = ()
    base: str = ""
    canonical: str = ""
    is_readable: bool = True

    @property
    def resources(self) -> list[str]:
        """The URLs of what it shows."""
        return [url for name in self.names if (url := join_url(self.base, name))]

    @property
    def frame_urls(self) -> list[str]:
        return [url for name in self.frames if (url := join_url(self.base, name))]


def join_url(base: str, name: str) -> str:
    """What ``name`` means in a document, without what leads to a part of it; empty where it is not a URL."""
    try:
        return str(ada_url.join_url(base, name)).partition("#")[0]
    except (ValueError, UnicodeError):
        return ""


class DocumentReader:
    """The process, started when it is needed; one document at a time."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def read(
        self, data: bytes, url: str, mime: str, content_type: str = "", *, with_text: bool = True
    ) -> DocumentContent:
        """``with_text``: without, only the frames of a page, and what a style sheet names. Blocks."""
        asked = {"url": url, "mime": mime, "content_type": content_type, "with_text": with_text, "length": len(data)}
        answer = self._ask(self._running(), json.dumps(asked).encode() + b"\n" + data)
        found = json.loads(answer) if answer.endswith(b"\n") else {}
        is_readable = "is_read" in found  # a parser that lacks memory ends the process with a record of its own
        if not is_readable or len(data) > LARGE:
            self.close()
        if not is_readable:
            return DocumentContent(is_readable=False)
        del found["is_read"]
        return DocumentContent(**found)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
            self._stack.close()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            self._process = self._stack.enter_context(module_process(_PROGRAM))
        return self._process

    @staticmethod
    def _ask(process: "subprocess.Popen[bytes]", sent: bytes) -> bytes:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        try:
            process.stdin.write(sent)
            process.stdin.flush()
        except BrokenPipeError:
            return b""
        return process.stdout.readline()
