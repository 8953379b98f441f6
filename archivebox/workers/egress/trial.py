"""Owns the way out of a trial: a proxy in this very process, for hooks that are run outside of any crawl on record."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from archivebox.config.resolve import Resolved
from archivebox.lib.egress import Door, Place, Policy
from archivebox.lib.urls import parse_url
from archivebox.workers.egress.policies import facts_of
from archivebox.workers.egress.ways import LOOPBACK, listen

PATIENCE = 5.0
"""Seconds in which the proxy is up, and gone again."""


@contextmanager
def way_out(url: str, folder: Path, settings: Resolved) -> Iterator[str]:
    """The URL of a proxy that stands meanwhile, by the rules of a crawl of ``url`` whose folder this is."""
    facts = facts_of(folder, settings)
    given = parse_url(url)

    async def is_named(place: Place) -> bool:
        return place == Place(given.host.strip("[]"), given.effective_port or 0)

    async def learn() -> Policy:
        return facts.policy(is_named, frozenset({port}))

    listener = listen(0)
    port = listener.getsockname()[1]
    loop, door = asyncio.new_event_loop(), Door(learn)
    thread = threading.Thread(target=loop.run_forever, name="way out", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(door.listen(listener), loop).result(PATIENCE)
        yield f"http://{LOOPBACK}:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(_end(door), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE)


async def _end(door: Door) -> None:
    door.close()
