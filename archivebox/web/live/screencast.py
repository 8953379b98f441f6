"""Owns the pictures of what the tabs of a crawl show, as long as somebody looks.

The crawl's browser hook takes them while it has a viewer (`session.json` says where), which is this process, once for
all who look. It sends pictures and is sent nothing: here nobody speaks to the browser. Only the newest picture of each
page is kept, in memory.
"""

import asyncio
import json
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from django.db import DatabaseError, connection

from archivebox.crawls.crawl import Crawl
from archivebox.web.live.hub import Viewer

AGAIN = 1.0
"""Seconds after which it is looked again for a browser that is not there yet, or has gone."""
PICTURE_MOST = 256 * 1024
"""Bytes of one message; a picture has 3 to 20 kB."""
PAGES_MOST = 32


class Picture(NamedTuple):
    """The newest of a page, as JPEG in base64, and the number of the change that it was."""

    number: int
    jpeg: str


class Screens:
    """Those of all crawls that are looked at."""

    def __init__(self) -> None:
        self._screens: dict[UUID, Screen] = {}

    def of(self, crawl_id: UUID) -> "Screen":
        if crawl_id not in self._screens:
            self._screens[crawl_id] = Screen(crawl_id, partial(self._screens.pop, crawl_id, None))
        return self._screens[crawl_id]


class Screen:
    """What the tabs of one crawl show. ``end`` is called when the last viewer has left."""

    def __init__(self, crawl_id: UUID, end: "partial[object]") -> None:
        self._crawl_id, self._end = crawl_id, end
        self._viewers: set[Viewer] = set()
        self._pictures: dict[str, Picture] = {}
        self._number = 1
        self._following: asyncio.Task[None] | None = None

    def join(self) -> Viewer:
        viewer = Viewer(frozenset())
        viewer.wake.set()
        self._viewers.add(viewer)
        if self._following is None:
            self._following = asyncio.get_running_loop().create_task(self._follow())
        return viewer

    def leave(self, viewer: Viewer) -> None:
        viewer.leave()
        self._viewers.discard(viewer)
        if not self._viewers and self._following is not None:
            self._following.cancel()
            self._end()

    def message(self, viewer: Viewer) -> bytes:
        """Which pages are open, with the pictures that the viewer has not seen yet; empty if it knows all that."""
        since, viewer.told = viewer.told, self._number
        if since == self._number:
            return b""
        newer = {page: picture.jpeg for page, picture in self._pictures.items() if picture.number > since}
        said = {"open": list(self._pictures), "pictures": newer}
        return b"data: %s\n\n" % json.dumps(said, separators=(",", ":")).encode()

    async def _follow(self) -> None:
        """Be a viewer of the crawl's browser, and of the next one if it ends, until nobody looks any more."""
        folder = await asyncio.to_thread(_folder_of, self._crawl_id)
        while folder is not None:
            if socket := await asyncio.to_thread(_socket_in, folder):
                with suppress(OSError, EOFError, ValueError, asyncio.LimitOverrunError):
                    await self._receive_frames(socket)
                self._pictures.clear()
                self._tell()
            await asyncio.sleep(AGAIN)

    async def _receive_frames(self, socket: str) -> None:
        """Take what the browser's hook sends until one of us leaves."""
        reader, writer = await asyncio.open_unix_connection(socket, limit=PICTURE_MOST)
        try:
            while True:
                self._store_frame(*_read(await reader.readuntil(b"\0")))
        finally:
            writer.close()

    def _store_frame(self, page: str, jpeg: str | None) -> None:
        if jpeg is None:
            self._pictures.pop(page, None)
        elif page in self._pictures or len(self._pictures) < PAGES_MOST:
            self._pictures[page] = Picture(self._number + 1, jpeg)
        self._tell()

    def _tell(self) -> None:
        self._number += 1
        for viewer in self._viewers:
            viewer.wake.set()


def _read(message: bytes) -> tuple[str, str | None]:
    """Which page, and its picture; None: it is closed. ValueError for anything else."""
    match json.loads(message[:-1]):
        case {"snapshot": str() as page, "picture": str() | None as jpeg}:
            return page, jpeg
        case other:
            raise ValueError(f"no picture of a page: {other!r:.80}")


def _folder_of(crawl_id: UUID) -> Path | None:
    try:
        return Crawl.objects.select_related("created_by").get(pk=crawl_id).local_path
    except (Crawl.DoesNotExist, DatabaseError):
        return None  # its page says so
    finally:
        connection.close()


def _socket_in(folder: Path) -> str:
    """Where a hook of the crawl shows what its browser's tabs show; empty where there is none."""
    for file in folder.glob("*/session.json"):
        with suppress(OSError, ValueError):  # it has ended meanwhile, or is another's that says something else
            session = json.loads(file.read_text())
            if isinstance(session, dict) and isinstance(session.get("screencast"), str):
                return str(session["screencast"])
    return ""
