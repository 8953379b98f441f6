"""Hooks that a former holder of an item left running, and that nobody goes on with: ended, and put on record.

Such are on_CrawlEnd and on_SnapshotEnd hooks, which run anew; those of a plugin that has gone; and the earlier of two
runs of one hook, where the worker was killed before the end of that one was committed.
"""

import logging
import os
from uuid import UUID

from archivebox.base_models.transactions import write_transaction
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason
from archivebox.lib.processes import Tree
from archivebox.machine.process import Process
from archivebox.workers.execute.engine import Engine

log = logging.getLogger(__name__)


async def end_leftover(engine: Engine, row: Process) -> None:
    """TERM to its whole tree, grace, KILL; then its row says so."""
    tree = Tree(root=row.identity, process_id=str(row.pk), data_dir=DATA_FOLDER.root, reapers=(os.getpid(),))
    gone = await tree.end(grace=engine.stop_grace)
    log.info("Ended %s, which nobody goes on with action=leftover_ended pid=%s gone=%s", row.hook_name, row.pid, gone)
    await engine.journal.read(_close, row.pk)


def _close(process_id: UUID) -> None:
    rows = Process.objects.running().filter(pk=process_id)
    with write_transaction():
        rows.update(end_reason=EndReason.SEALED)
        rows.close(reapers_live=False)
