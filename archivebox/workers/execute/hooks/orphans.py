"""Processes that nobody goes on with: such as shed session and mark, which end at the last seal, and leftover hooks."""

import logging
import os
from collections.abc import Callable
from uuid import UUID

from archivebox.base_models.rows import new_id
from archivebox.base_models.transactions import write_transaction
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason
from archivebox.lib import processes
from archivebox.lib.processes import ExitStatus, ProcessIdentity, StrayProcesses, Tree
from archivebox.machine.process import Process
from archivebox.machine.process_current import command_line
from archivebox.machine.process_row import exited_columns, started_columns
from archivebox.workers.execute.engine import Engine

log = logging.getLogger(__name__)


class Orphans:
    """Orphans that came to this worker and bear no mark (``env -i`` and a double fork)."""

    def __init__(self, engine: Engine, is_idle: Callable[[], bool]) -> None:
        self.engine = engine
        self.is_idle = is_idle
        self.listed: dict[ProcessIdentity, UUID] = {}
        self._told: set[ProcessIdentity] = set()
        engine.on_reaped = self._close

    def record_new(self) -> None:
        """Put those on record that are new: children of the worker."""
        for identity in self.engine.orphans() - self.listed.keys():
            is_marked = processes.mark_of(identity.pid, DATA_FOLDER.root) is not None
            if not (is_marked or identity.is_exiting()):  # in this order: who is ended shows no mark any more
                self.listed[identity] = self._record(identity)

    async def end(self) -> None:
        """End all of them: no Snapshot of this worker is left that they could belong to."""
        self.record_new()
        if not self.listed:
            return
        gone = await StrayProcesses(self._to_end).end(grace=self.engine.stop_grace)
        log.info("Ended strays that bore no mark action=orphans_ended count=%d gone=%s", len(self._told), gone)
        self.engine.reap_orphans()
        for identity in self._told:
            self._close(identity, processes.UNSEEN)
        self._told.clear()

    def _to_end(self) -> list[ProcessIdentity]:
        """Those listed, and whomever they have forked meanwhile, until another Snapshot begins."""
        self.engine.reap_orphans()
        if self.is_idle():
            self.record_new()
            self._told |= set(self.listed)
        return list(self._told)

    def _close(self, identity: ProcessIdentity, status: ExitStatus) -> None:
        """One has been reaped, whoever asked; of those that were not listed there is no row."""
        key = self.listed.pop(identity, None)
        if key is None:
            return
        reason = EndReason.SEALED if identity in self._told else None
        self.engine.journal.update(Process, key, exited_columns(status, reason))

    def _record(self, identity: ProcessIdentity) -> UUID:
        key = new_id()
        columns = {
            "machine_id": self.engine.machine_id,
            "parent_id": self.engine.process_id,
            "process_type": Process.TypeChoices.BINARY,
            "cmd": command_line(identity.pid),
            **started_columns(identity),
        }
        self.engine.journal.insert(Process, key, columns)
        return key


async def end_leftover(engine: Engine, row: Process) -> None:
    """End a hook that a former holder left running, and put that on record: TERM to its whole tree, grace, KILL.

    Such are on_CrawlEnd and on_SnapshotEnd hooks, which run anew; those of a plugin that has gone; and the earlier of
    two runs of one hook, where the worker was killed before the end of that one was committed.
    """
    tree = Tree(root=row.identity, process_id=str(row.pk), data_dir=DATA_FOLDER.root, reapers=(os.getpid(),))
    gone = await tree.end(grace=engine.stop_grace)
    log.info("Ended %s, which nobody goes on with action=leftover_ended pid=%s gone=%s", row.hook_name, row.pid, gone)
    await engine.journal.read(_close_row, row.pk)


def _close_row(process_id: UUID) -> None:
    rows = Process.objects.running().filter(pk=process_id)
    with write_transaction():
        rows.update(end_reason=EndReason.SEALED)
        rows.close(reapers_live=False)
