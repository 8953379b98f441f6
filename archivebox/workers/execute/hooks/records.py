"""What a worker does with the records of its hooks, whatever they are of: checks them, and writes them down."""

import logging
from collections.abc import Sequence
from uuid import UUID

from archivebox.contract.reasons import Reason
from archivebox.contract.records import Record
from archivebox.hooks import process_hook_records, refusal_of
from archivebox.lib.jsonl import JSON
from archivebox.machine.process import Process
from archivebox.workers.execute.hooks.process import HookProcess

log = logging.getLogger(__name__)


def accepted(run: HookProcess, records: Sequence[Record]) -> list[Record]:
    """The records that may have an effect; any other is its hook's failure."""
    taken: list[Record] = []
    for record in records:
        if problem := refusal_of(record, run.engine.machine_id, run.work.get("binary_id")):
            refuse_record(run, problem)
        else:
            taken.append(record)
    return taken


def refuse_record(run: HookProcess, problem: str) -> None:
    """Remember that a record of a hook was not taken, which is its failure."""
    log.warning("A record of %s was refused: %s action=record_refused", run.hook.file_name, problem)
    run.output.refuse(Reason.RECORD_REFUSED.of(problem))


def keep_offset(process_id: UUID, offset: int, said: dict[str, JSON] | None) -> None:
    """Up to where the records are in the database: committed with them, under the same lease."""
    Process.objects.filter(pk=process_id).update(stdout_offset=offset, declared=said)


def store_programs(hook_id: UUID, records: Sequence[Record]) -> None:
    """Programs that a hook reports become its children."""
    process_hook_records(records, {"process": Process.objects.get(pk=hook_id)})
