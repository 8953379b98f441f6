"""The index in Sonic: an object for each text, named after its Snapshot, plugin and file."""

from __future__ import annotations

import json
import os
import re
import socket
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, unquote

from archivebox.plugins.base import Settings, write_atomically
from archivebox.plugins.base.searching import Hit, UnavailableError, answer, segmented

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from archivebox.plugins.base.searching import Text

NOTES = "search_backend_sonic/objects.json"  # in the Snapshot's folder: Sonic cannot say which objects it has
LONGEST_NAME = 128  # characters of an object
SLASHES = 2  # in the name of an object of ours: an older collection may have left others in the bucket
AT_A_TIME = 100  # hits of one question: the most that Sonic gives unless its own settings say otherwise
PATIENCE = 20.0  # seconds for one answer
ENVELOPE = 600  # bytes of a command but for its text: three names of 128 characters, and words of its own
LONGEST_ANSWER = 1 << 20  # bytes of a line


class SonicIndex:
    """What a Sonic server knows. It has no phrases: their words count one by one, wherever they stand."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        settings = Settings(environ, os.path.dirname(__file__))
        self._server = settings.str("SEARCH_BACKEND_SONIC_HOST_NAME"), settings.int("SEARCH_BACKEND_SONIC_PORT")
        self._password = settings.str("SEARCH_BACKEND_SONIC_PASSWORD")
        self._bucket = f"archivebox {settings.str('SEARCH_BACKEND_SONIC_BUCKET')}"

    def _open(self, mode: str) -> Channel:
        return Channel(*self._server, self._password, mode)

    def index(self, snapshot: str, folder: Path, texts: Iterable[Text]) -> int:
        """Note what is about to be there first: whatever happens then, it can be found again and removed."""
        named = [(_object(snapshot, text), text.content) for text in texts]
        with self._open("ingest") as channel:
            self._forget(channel, folder)
            if named:
                (folder / NOTES).parent.mkdir(exist_ok=True)
                write_atomically(str(folder / NOTES), json.dumps(sorted({name for name, _ in named})) + "\n")
            for name, content in named:
                channel.push(f"{self._bucket} {name}", segmented(content))
        return len(named)

    def remove(self, _snapshot: str, folder: Path) -> None:
        with self._open("ingest") as channel:
            self._forget(channel, folder)

    def _forget(self, channel: Channel, folder: Path) -> None:
        notes = folder / NOTES
        for name in json.loads(notes.read_text()) if notes.is_file() else []:
            channel.ask(f"FLUSHO {self._bucket} {name}")
        notes.unlink(missing_ok=True)

    def flush(self) -> None:
        with self._open("ingest") as channel:
            channel.ask(f"FLUSHB {self._bucket}")

    def close(self) -> None:
        """A channel is open while it is used."""

    def query(self, words: list[str], limit: int) -> Iterable[Hit]:
        terms = segmented(" ".join(words)).replace("*", " ")
        with self._open("search") as channel:
            for offset in range(0, limit, AT_A_TIME):
                names = channel.query(self._bucket, terms, AT_A_TIME, offset)
                yield from (_hit(name) for name in names if name.count("/") >= SLASHES)
                if len(names) < AT_A_TIME:
                    return


def _object(snapshot: str, text: Text) -> str:
    """Name a text; the file is left out where the name would be too long for Sonic."""
    name = f"{snapshot}/{text.plugin}/{quote(text.file)}"
    return name if len(name) <= LONGEST_NAME else f"{snapshot}/{text.plugin}/"


def _hit(name: str) -> Hit:
    snapshot, plugin, file = name.split("/", 2)
    return Hit(snapshot, plugin, unquote(file))


# --- the Sonic Channel protocol, version 1, over TCP (PROTOCOL.md of Sonic) ------------------------------------------


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


ENGINE = SonicIndex

if __name__ == "__main__":
    answer(SonicIndex())
