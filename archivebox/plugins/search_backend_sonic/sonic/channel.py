"""Speaks the Sonic Channel protocol, version 1, over TCP (PROTOCOL.md of Sonic)."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING, Self

from archivebox.plugins.base.searching import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

PATIENCE = 20.0  # seconds for one answer
ENVELOPE = 600  # bytes of a command but for its text: three names of 128 characters, and words of its own
LONGEST_ANSWER = 1 << 20  # bytes of a line


class Channel:
    """One conversation in a mode, `ingest` or `search`; UnavailableError says what is wrong with it."""

    def __init__(self, host: str, port: int, password: str, mode: str) -> None:
        self._where = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), timeout=PATIENCE)
        except OSError as error:
            raise UnavailableError(
                f"Sonic does not answer at {self._where} ({error.strerror or error}): start it, or set "
                "SEARCH_BACKEND_SONIC_HOST_NAME and SEARCH_BACKEND_SONIC_PORT"
            ) from None
        self._lines = self._socket.makefile("rb")
        self._read()  # CONNECTED
        started = self.ask(f"START {mode} {password}")
        buffer = re.search(r"buffer\((\d+)\)", started)
        self._room = int(buffer[1] if buffer else 20_000) - ENVELOPE

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lines.close()
        self._socket.close()

    def ask(self, command: str) -> str:
        """Send one command and return the answer to it."""
        try:
            self._socket.sendall(f"{command}\n".encode())
        except OSError as error:
            raise self._broken(error) from None
        return self._read()

    def _read(self) -> str:
        try:
            line = self._lines.readline(LONGEST_ANSWER)
        except OSError as error:
            raise self._broken(error) from None
        text = line.decode("utf-8", "replace").strip()
        if not text or text.startswith(("ERR ", "ENDED ")):
            raise UnavailableError(f"Sonic at {self._where} refuses: {text or 'it hung up'}")
        return text

    def _broken(self, error: OSError) -> UnavailableError:
        return UnavailableError(f"Sonic at {self._where} broke off ({error.strerror or error}): see its log")

    def push(self, target: str, text: str) -> None:
        for part in parts(text, self._room):
            self.ask(f'PUSH {target} "{part}" LANG(none)')

    def query(self, target: str, terms: str, limit: int, offset: int) -> list[str]:
        """Return the objects that have every term (PENDING <marker>, then EVENT QUERY <marker> <object>…)."""
        found = next(parts(terms, self._room), "")
        if not found:
            return []
        self.ask(f'QUERY {target} "{found}" LIMIT({limit}) OFFSET({offset}) LANG(none)')
        return self._read().split()[3:]


def parts(text: str, room: int) -> Iterator[str]:
    """Yield `text` in pieces of at most `room` bytes, cut between words, each ready to stand between quotes."""
    piece: list[str] = []
    size = 0
    for word in text.replace("\\", " ").replace('"', " ").split():
        word_size = len(word.encode()) + 1
        if word_size > room:
            continue  # no word of a language
        if size + word_size > room:
            yield " ".join(piece)
            piece, size = [], 0
        piece.append(word)
        size += word_size
    if piece:
        yield " ".join(piece)
