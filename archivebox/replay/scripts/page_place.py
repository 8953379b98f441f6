"""Owns the place of a snapshot's page: its host, the clock and the seed that its scripts get."""

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from archivebox.replay.index import indices
from archivebox.replay.scripts.place import ScriptPlace, place_of


def page_place(folder: Path, snapshot_id: UUID, url: str) -> ScriptPlace:
    """The place of the page ``url``, recorded in ``folder``. Blocks. ValueError where it is no page of the web.

    The clock is that of the page's own answer; the seed is of the snapshot, so that each view shows the same.
    """
    index = indices.of(folder)
    found = index.find(url)
    time = str(found.response.record.get("time", "")) if found else ""
    seed = snapshot_id.int & 0xFFFFFFFF
    return place_of(url, _milliseconds(time), seed, has_service_worker=index.has_service_worker)


def _milliseconds(time: str) -> int:
    """A WARC-Date in milliseconds since 1970; 0 for what is none."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return 0
    return int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)
