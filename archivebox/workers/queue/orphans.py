"""Processes of dead workers that nobody would adopt: their rows say that they have ended, as another machine had taken
them for lost.
"""

import logging
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from uuid import UUID

from archivebox.config.settings import DATA_FOLDER
from archivebox.lib import processes
from archivebox.lib.processes import ProcessIdentity, StrayProcesses
from archivebox.machine.process import Process

log = logging.getLogger(__name__)


def end_stale_hooks(orchestrator: int) -> int:
    """End the hooks that dead workers left to their orchestrator although their rows say that they have ended.

    Their worker died or was held still, and another machine has taken over its pages. Returns how many. The
    orchestrator's own children bear the mark that it has.
    """
    marks = set(processes.marked_children(orchestrator, DATA_FOLDER.root).values())
    marks -= {processes.mark_of(orchestrator, DATA_FOLDER.root)}
    hooks = Process.objects.here().exited().of_type(Process.TypeChoices.HOOK).filter(pk__in=_keys(marks))
    running = {str(hook.pk) for hook in hooks if hook.identity and hook.identity.is_alive()}
    if running:
        gone = end_marked(running)
        log.warning("Ended hooks of pages taken over action=taken_over_ended hooks=%d gone=%s", len(running), gone)
    return len(running)


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
