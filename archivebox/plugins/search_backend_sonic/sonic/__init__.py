"""The index in Sonic: an object for each text, named after its Snapshot, plugin and file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from archivebox.plugins.base import Settings, write_atomically
from archivebox.plugins.base.searching import Hit
from archivebox.plugins.base.segments import segmented

from .channel import Channel

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from archivebox.plugins.base.texts import Text

NOTES = "search_backend_sonic/objects.json"  # in the Snapshot's folder: Sonic cannot say which objects it has
LONGEST_NAME = 128  # characters of an object
SLASHES = 2  # in the name of an object of ours: an older collection may have left others in the bucket
AT_A_TIME = 100  # hits of one question: the most that Sonic gives unless its own settings say otherwise


class SonicIndex:
    """What a Sonic server knows. It has no phrases: their words count one by one, wherever they stand."""

    def __init__(self) -> None:
        settings = Settings()
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
