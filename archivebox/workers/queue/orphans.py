"""Processes of dead workers that no row names: nobody would adopt them, and nobody else would end them.

A failover of the database can lose the row of a process that runs on, such as a daemon that holds a browser's tab.
"""

import logging
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib import processes
from archivebox.lib.processes import ProcessIdentity, SpawnLog, Strays
from archivebox.machine.process import Process

log = logging.getLogger(__name__)


def marks_of_orphans(orchestrator: int) -> set[str]:
    """Marks of the processes that dead workers left to their orchestrator; its own children bear the mark that it has.

    Call it before dead workers are reclaimed: until then each start is a row, or in the log of its worker.
    """
    found = set(processes.marked_children(orchestrator, DATA_FOLDER.root).values())
    return found - {processes.mark_of(orchestrator, DATA_FOLDER.root)}


def end_unrecorded(marks: set[str]) -> int:
    """End the processes whose marks neither a log of starts nor a row knows; returns how many marks they bore.

    Marks that no living process bears do not count: the rows of old runs may have been deleted since.
    """
    living = marks and marks & set(processes.marked(DATA_FOLDER.root).values())
    unknown = living and living - _logged() - _on_record(living)
    if unknown:
        gone = end_marked(unknown)
        log.warning("Ended processes without a row action=unrecorded_ended hooks=%d gone=%s", len(unknown), gone)
    return len(unknown)


def _logged() -> set[str]:
    """Starts whose rows may not be committed yet. A log goes after its rows are: read it before them."""
    return {entry.process_id for path in DATA_FOLDER.spawn_logs.glob("*.jsonl") for entry in SpawnLog.read(path)}


def _on_record(marks: set[str]) -> set[str]:
    keys = []
    for mark in marks:
        with suppress(ValueError):  # a hook may have marked its own child with anything
            keys.append(UUID(mark))
    return set(map(str, Process.objects.filter(pk__in=keys).values_list("pk", flat=True)))


def end_marked(marks: Collection[str]) -> bool:
    """End all processes that bear one of these marks; returns whether all are gone."""
    return Strays(partial(_bearers, marks)).end_blocking(grace=1.0)


def _bearers(marks: Collection[str]) -> list[ProcessIdentity]:
    return [identity for identity, mark in processes.marked(DATA_FOLDER.root).items() if mark in marks]
