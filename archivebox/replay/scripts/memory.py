"""Owns what is remembered of a script view: what its documents had, and which addresses its scripts made."""

import fcntl
import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol
from uuid import UUID

from archivebox.lib import jsonl

log = logging.getLogger("archivebox.replay")

LARGEST = 2 * 1024 * 1024
"""Bytes that are remembered of one view, a hundred for each request; then it begins anew."""


class ViewMemory(Protocol):
    """What one view remembers."""

    def count(self, *name: str) -> int:
        """How often ``name`` was counted before."""

    def add_route(self, url: str, document: str) -> None:
        """Remember that the recorded ``document`` shows itself under ``url``."""

    def route(self, url: str) -> str:
        """The document that shows itself under ``url``; empty: none does."""


@dataclass
class LocalViewMemory:
    """Of a view that one process shows."""

    _counts: Counter[tuple[str, ...]] = field(default_factory=Counter)
    _routes: dict[str, str] = field(default_factory=dict)

    def count(self, *name: str) -> int:
        self._counts[name] += 1
        return self._counts[name] - 1

    def add_route(self, url: str, document: str) -> None:
        self._routes[url] = self._routes.get(document, document)

    def route(self, url: str) -> str:
        return self._routes.get(url, "")


@dataclass(frozen=True)
class SharedViewMemory:
    """Of a view that several web servers show: lines in a file, of which one at a time writes. Its methods block.

    Where the file cannot be written, each request is the first.
    """

    path: Path

    def count(self, *name: str) -> int:
        line = hashlib.sha256(json.dumps(name).encode("utf-8", "surrogatepass")).hexdigest().encode()
        with suppress(OSError), self._opened() as file:
            before = file.read().split(b"\n").count(line)
            file.write(line + b"\n")
            return before
        return 0

    def add_route(self, url: str, document: str) -> None:
        with suppress(OSError), self._opened() as file:
            document = _routes(file.readlines()).get(document, document)
            file.write(jsonl.dumps({"url": url, "document": document}))

    def route(self, url: str) -> str:
        try:
            return _routes(self.path.read_bytes().splitlines()).get(url, "")
        except OSError:
            return ""

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        """The file at its beginning, held against others; all that is written goes to its end. OSError."""
        try:
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            with self.path.open("a+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file.fileno()).st_size > LARGEST:
                    file.truncate(0)
                file.seek(0)
                yield file
        except OSError as error:
            more = {"action": "script_view_not_remembered", "view": self.path.name}
            log.warning("What a script view had cannot be remembered: %s", error, extra=more)
            raise


def _routes(lines: Iterable[bytes]) -> dict[str, str]:
    said = (jsonl.loads(line) for line in lines if line.startswith(b"{"))
    return {str(one["url"]): str(one["document"]) for one in said if one}


def forget(folder: Path, views: Iterable[UUID]) -> None:
    """Remove what is remembered of these views."""
    for key in views:
        with suppress(OSError):
            (folder / str(key)).unlink()


def forget_others(folder: Path, views: Iterable[UUID]) -> None:
    """Remove what is remembered of all views but these."""
    kept = set(map(str, views))
    with suppress(OSError):
        for path in folder.iterdir():
            if path.name not in kept:
                path.unlink(missing_ok=True)
