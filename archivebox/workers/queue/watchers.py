"""Who watches: a file for each command that waits for work, which names its process and what it waits for."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.processes import ProcessIdentity
from archivebox.lib.system_calls import hold


class Only(NamedTuple):
    """The one thing that somebody waits for: a Crawl, or one of its Snapshots; or, in place of a Crawl, a Job."""

    crawl: UUID
    snapshot: UUID | None = None


class Watcher(NamedTuple):
    """Who waits, and for what; None: for all there is to do."""

    identity: ProcessIdentity
    only: Only | None


Scope = Mapping[UUID, set[UUID]]
"""Crawls that may be worked on; of each the Snapshots that may, none meaning all of them."""


def begin(path: Path, only: Only | None = None) -> int:
    """Say in the file ``path`` that this process watches; returns its descriptor, which holds the lock until the end.

    Locked before anything is in it: one that nobody holds is taken for that of a dead process, and cleared away.
    """
    descriptor = hold(path)
    chosen = [str(key) for key in only or () if key is not None]
    try:
        path.write_text(json.dumps({"identity": list(ProcessIdentity.current()), "only": chosen}))
    except OSError:  # no room for it: then this process does not watch
        path.unlink(missing_ok=True)
        os.close(descriptor)
        raise
    return descriptor


def read(path: Path) -> Watcher | None:
    """Who watches; None for a file that is gone or torn."""
    try:
        said = json.loads(path.read_text())
        only = [UUID(key) for key in said["only"]]
        return Watcher(ProcessIdentity(*said["identity"]), Only(*only) if only else None)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def files() -> Iterator[Path]:
    """The files of all that watch."""
    return DATA_FOLDER.watchers.iterdir()


def scope() -> Scope | None:
    """What workers may work on; None: everything, since somebody waits for that.

    Where nobody waits any more nothing begins: the orchestrator is about to end.
    """
    scope: dict[UUID, set[UUID]] = {}
    for watcher in filter(None, map(read, files())):
        if watcher.only is None:
            return None
        crawl, snapshot = watcher.only
        if snapshot is None:
            scope[crawl] = set()
        elif scope.get(crawl) != set():
            scope.setdefault(crawl, set()).add(snapshot)
    return scope
