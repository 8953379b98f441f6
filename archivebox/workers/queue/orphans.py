"""Processes of dead workers that nobody would adopt, and nobody else would end.

No row names them, since a failover of the database can lose the row of a process that runs on, such as a daemon that
holds a browser's tab. Or their row says that they have ended: another machine had taken them for lost.
"""

import logging
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib import processes
from archivebox.lib.processes import ProcessIdentity, SpawnLog, StrayProcesses
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


def end_stale_hooks(marks: set[str]) -> int:
    """End the hooks with these marks that run although their rows say that they have ended; returns how many.

    Their worker died or was held still, and another machine has taken over its pages.
    """
    hooks = Process.objects.here().exited().of_type(Process.TypeChoices.HOOK).filter(pk__in=_keys(marks))
    running = {str(hook.pk) for hook in hooks if hook.identity and hook.identity.is_alive()}
    if running:
        gone = end_marked(running)
        log.warning("Ended hooks of pages taken over action=taken_over_ended hooks=%d gone=%s", len(running), gone)
    return len(running)


def _logged() -> set[str]:
    """Starts whose rows may not be committed yet. A log goes after its rows are: read it before them."""
    return {entry.process_id for path in DATA_FOLDER.spawn_logs.glob("*.jsonl") for entry in SpawnLog.read(path)}


def _on_record(marks: set[str]) -> set[str]:
    return set(map(str, Process.objects.filter(pk__in=_keys(marks)).values_list("pk", flat=True)))


def _keys(marks: Collection[str]) -> list[UUID]:
    keys = []
    for mark in marks:
        with suppress(ValueError):  # a hook may have marked its own child with anything
            keys.append(UUID(mark))
    return keys


def end_marked(marks: Collection[str]) -> bool:
    """End all processes that bear one of these marks; returns whether all are gone."""
    return StrayProcesses(partial(_bearers, marks)).end_blocking(grace=1.0)


def _bearers(marks: Collection[str]) -> list[ProcessIdentity]:
    return [identity for identity, mark in processes.marked(DATA_FOLDER.root).items() if mark in marks]
