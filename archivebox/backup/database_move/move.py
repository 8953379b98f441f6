"""Owns moving all rows to another database, table by table, and comparing them there."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db import DEFAULT_DB_ALIAS, connection

from archivebox.backup.database_move.rows import BATCH, Model, TableDigest, all_models, digest_of, read_rows
from archivebox.backup.database_move.target import SQLITE, TARGET, MoveError, MoveTarget
from archivebox.base_models.work import lease_clock
from archivebox.lib.batches import batches
from archivebox.lib.files import locked
from archivebox.machine.host import ALIVE, Machine
from archivebox.machine.process import Process
from archivebox.storage.layout import DataFolder

WORKING = (Process.TypeChoices.ORCHESTRATOR, Process.TypeChoices.WORKER)


@dataclass(slots=True)
class MoveProgress:
    """What was done so far: rows written by this call, and the tables that were compared, by name."""

    table: str = ""
    written: int = 0
    compared: dict[str, TableDigest] = field(default_factory=dict)


def move_database(url: str, folder: DataFolder) -> Iterator[MoveProgress]:
    """Copy this collection's rows to the database of ``url``, or to ``sqlite``; the own one stays as it is.

    Interrupted, the same call goes on where it was. MoveError where it cannot begin, or what is there then differs.
    """
    if connection.vendor == SQLITE == url:
        raise MoveError("The database of this collection is SQLite already.")
    with locked(folder.orchestrator_lock, blocking=False) as lock:
        if lock is None:
            raise MoveError("Something works on this collection: end its `server`, `run` or `add` first.")
        _refuse_other_machines()
        target = MoveTarget(url, folder)
        target.begin(_source())
        progress = MoveProgress()
        for model in all_models():
            yield from _copy(model, target, progress)
        for model in all_models():
            yield from _compare(model, target, progress)
        target.finish()


def _refuse_other_machines() -> None:
    heard = Machine.objects.exclude(pk=Machine.current().pk).filter(seen_at__gt=lease_clock() - ALIVE)
    running = Process.objects.running().filter(process_type__in=WORKING, machine__in=heard)
    names = ", ".join(sorted(set(running.values_list("machine__hostname", flat=True))))
    if names:
        raise MoveError(f"Other machines work on this collection ({names}): end ArchiveBox there first.")


def _source() -> str:
    """The database that rows come from, as people know it."""
    known = connection.settings_dict
    return f"{known['NAME']}@{known['HOST']}" if connection.vendor == "postgresql" else str(known["NAME"])


def _copy(model: Model, target: MoveTarget, progress: MoveProgress) -> Iterator[MoveProgress]:
    progress.table = model._meta.db_table
    for batch in batches(read_rows(model, DEFAULT_DB_ALIAS, target.reached(model)), BATCH):
        target.add(model, batch)
        progress.written += len(batch)
        yield progress


def _compare(model: Model, target: MoveTarget, progress: MoveProgress) -> Iterator[MoveProgress]:
    """Begin a table again that has changed since its rows were read, as between two calls."""
    expected = digest_of(model, DEFAULT_DB_ALIAS)
    if digest_of(model, TARGET) != expected:
        target.forget(model)
        yield from _copy(model, target, progress)
        if digest_of(model, TARGET) != expected:
            raise MoveError(f"The rows of {model._meta.db_table} differ: repeat the command while nothing else runs.")
    progress.compared[model._meta.db_table] = expected
    yield progress
