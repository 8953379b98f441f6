"""Every process that we start or hear of: what people ask of their rows, and the tree that these make."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import UUID

from django.db import connection, models, transaction
from django.db.models import Q
from django.utils import timezone

from archivebox.base_models.literal import Literal
from archivebox.base_models.rows import new_id
from archivebox.base_models.transitions import TabledQuerySet
from archivebox.base_models.wakeups import notify_workers
from archivebox.base_models.work import Request
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason, register
from archivebox.lib.jsonl import JSON
from archivebox.lib.processes import UNSEEN, ExitJournal, ExitStatus, ProcessIdentity
from archivebox.machine.host import Machine
from archivebox.machine.process_current import OwnProcess
from archivebox.machine.process_row import end_reason_of, exited_columns, is_gone
from archivebox.machine.program_report import ProgramReport, start_of_descendant
from archivebox.machine.statemachines import ProcessMachine

APPLICATION = Path(__file__).parents[2]
"""Where our own processes find the application; an installed one has its libraries there, too."""
NO_SUCCESS = 3
"""The exit status of `archivebox run` where nothing came of it."""
DEEPEST = 64
"""Where recursive queries stop: no tree of ours is deeper, and a damaged one must not loop."""


def _close(row: "Process", seen: ExitStatus) -> None:
    row.refresh_from_db()  # its reaper commits before it reaps: what is seen to be gone may be on record by now
    if row.status != Process.StatusChoices.EXITED:
        row.settle(seen)
        row.save()
        with suppress(OSError):  # its folder was in the hands of a hook
            row.pid_file.unlink(missing_ok=True)


class ProcessQuerySet(TabledQuerySet["Process"]):
    """Processes, in the words people ask for them."""

    def running(self) -> Self:
        return self.filter(status=Literal(Process.StatusChoices.RUNNING))

    def close(self, *, reapers_live: bool = True) -> int:
        """RUNNING rows whose process is gone: EXITED with what the journal says, else lost. Returns how many.

        ``reapers_live``: somebody of ours will still read the status of what is a zombie now. They are closed in the
        order of their keys: others close some at the same moment, and PostgreSQL would have each wait for the other.
        """
        journal = ExitJournal(DATA_FOLDER.exits)
        count = 0
        for row in list(self.order_by("pk")):
            identity = row.identity
            if identity is not None and identity.is_alive() and not identity.is_zombie():
                continue
            waits = reapers_live and row.process_type in {"hook", "worker", "binary"}
            is_unread = waits and identity is not None and identity.is_zombie()  # asked before the journal is read
            seen = journal.read(identity) if identity is not None else None
            if seen is None and is_unread:
                continue  # its reaper has still to journal it; whoever adopts it waits for that
            _close(row, seen or UNSEEN)
            if identity is not None:
                transaction.on_commit(lambda identity=identity: journal.forget(identity))  # type: ignore[misc]
            count += 1
        return count

    def never_started(self) -> Self:
        """On record, but the process that was to start them has ended."""
        queued = self.filter(status=Process.StatusChoices.QUEUED)
        return queued.exclude(parent__status__in=[Process.StatusChoices.QUEUED, Process.StatusChoices.RUNNING])

    def exited(self) -> Self:
        return self.filter(status=Process.StatusChoices.EXITED)

    def of_type(self, *process_types: str) -> Self:
        return self.filter(process_type__in=process_types)

    def on(self, machine: Machine) -> Self:
        return self.filter(machine=machine)

    def here(self) -> Self:
        return self.on(Machine.current())

    def failed(self) -> Self:
        return self.exited().exclude(exit_code=0)

    def serving(self, **work: object) -> Self:
        """Those that served a piece of work: ``serving(snapshot_id=…)``."""
        return self.filter(**work)

    def ask_workers_to_end(self) -> int:
        """Have the workers end the running hooks that these are, or are programs of; how many hooks that is.

        Each with all that it started: TERM, a grace, KILL, by whoever holds it, on whichever machine, who then knows
        that it was wanted. Nobody else signals a process that somebody looks after.
        """
        of_programs = self.of_type(Process.TypeChoices.BINARY).values("parent_id")
        hooks = Process.objects.running().of_type(Process.TypeChoices.HOOK)
        chosen = hooks.filter(Q(pk__in=self.values("pk")) | Q(pk__in=of_programs))
        asked: int = chosen.update(request=Request.KILL)
        notify_workers()
        return asked

    def current(self) -> "Process":
        return Process.current()

    def get_by_pid(self, pid: int, machine: Machine | None = None) -> "Process | None":
        """The row of the process that has this pid *now*; None for a stranger that was given a used pid."""
        machine = machine or Machine.current()
        if machine.pk != Machine.current().pk:
            return None
        identity = ProcessIdentity.of(pid)
        if identity is None:
            return None
        rows = self.on(machine).running().filter(pid=pid, start_ticks=identity.start_ticks)
        return rows.filter(boot_id=identity.boot_id, pid_ns=identity.pid_ns).first()


class Process(OwnProcess):
    """One process: what it is, whose child, what it served, how it ended."""

    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.DO_NOTHING, related_name="children", db_constraint=False,
        db_index=False,  # an index begins with it
    )  # fmt: skip

    objects: ClassVar[models.Manager[Any]] = ProcessQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "processes"
        indexes = [
            # What lists are narrowed by, in their order: a crawl of a million pages has millions of processes.
            models.Index(fields=["parent", "id"], name="process_of_parent"),
            models.Index(fields=["parent", "status"], name="process_parent_status"),
            models.Index(fields=["crawl_id", "id"], condition=Q(crawl_id__isnull=False), name="process_of_crawl"),
            models.Index(fields=["machine", "pid"], condition=Q(status="running"), name="process_running"),
            models.Index(fields=["machine"], condition=~Q(request=""), name="process_request"),
            models.Index(fields=["snapshot_id"], condition=Q(snapshot_id__isnull=False), name="process_snapshot"),
        ]

    @property
    def hook(self) -> "Process | None":
        """Itself, if it is a hook; the hook that runs it, if it is a program."""
        if self.process_type == self.TypeChoices.HOOK:
            return self
        if self.process_type != self.TypeChoices.BINARY or self.parent_id is None:
            return None
        return Process.objects.of_type(self.TypeChoices.HOOK).filter(pk=self.parent_id).first()

    # --- the tree ---------------------------------------------------------------------------------------------

    @property
    def ancestors(self) -> list["Process"]:
        """From the parent to the root; one query, which stops at a missing parent, at a circle, and at 64."""
        rows = {row.pk: row for row in _walk(_ANCESTORS, self.pk) if row.pk != self.pk}
        found: list[Process] = []
        parent_id = self.parent_id
        while parent_id is not None and (row := rows.pop(parent_id, None)) is not None and len(found) < DEEPEST:
            found.append(row)
            parent_id = row.parent_id
        return found

    @property
    def root(self) -> "Process":
        ancestors = self.ancestors
        return ancestors[-1] if ancestors else self

    @property
    def depth(self) -> int:
        """0 for a root."""
        return len(self.ancestors)

    def get_descendants(self, include_self: bool = False) -> "models.QuerySet[Process]":
        keys = [row.pk for row in _walk(_DESCENDANTS, self.pk) if include_self or row.pk != self.pk]
        return Process.objects.filter(pk__in=keys)

    def get_tree(self) -> list["Process"]:
        """All below it and itself, parents before children."""
        return list(_walk(_DESCENDANTS, self.pk))

    # --- commands of ours ----------------------------------------------------------------------------------------

    @classmethod
    def of_ours(cls, kind: str, *words: str, parent: "Process | None" = None, **columns: Any) -> Self:
        """A module of ours as a program, with its arguments, that is still to be launched; our own child by default."""
        own = cls(machine=Machine.current(), parent=parent or cls.current(), process_type=kind, **columns)
        own.cmd, own.pwd = [sys.executable, "-m", *words], str(DATA_FOLDER.root)
        own.launch_env = {**os.environ, "PYTHONPATH": str(APPLICATION)}
        return own

    @classmethod
    def run_archivebox(cls, *words: str) -> None:
        """Have the workers of this collection do what an ``archivebox`` command asks of them, and wait until they have.

        ChildProcessError where it could not be done. No transaction may be open: they would not see what is in it.
        """
        own = cls.of_ours(cls.TypeChoices.CLI, "archivebox", *words).launch()
        if own.exit_code not in {0, NO_SUCCESS}:
            raise ChildProcessError(f"`archivebox {words[0]}` ended with {own.exit_code}: {own.stderr[-500:]}")

    # --- rows whose process is gone ---------------------------------------------------------------------------

    @classmethod
    def cleanup_stale_running(cls, machine: Machine | None = None) -> int:
        """Close the RUNNING rows of this machine whose process is gone; returns how many. Age proves nothing.

        Those of another pid namespace (a container on the same data folder) cannot be seen from here; whoever starts
        an orchestrator knows by their locks.
        """
        machine = machine or Machine.current()
        if machine.pk != Machine.current().pk:
            return 0
        gone = [
            row.pk
            for row in cls.objects.on(machine).running().only("boot_id", "pid_ns", "pid", "start_ticks").iterator()
            if row.identity is None or is_gone(row.identity)
        ]
        return cls.objects.filter(pk__in=gone).close()

    @classmethod
    def close_reported_programs(cls, **work: object) -> int:
        """Close the programs that hooks of this work reported and whose end they did not: their trees have ended."""
        rows = cls.objects.running().of_type(cls.TypeChoices.BINARY).filter(**work)
        return rows.transition("lose", **exited_columns(UNSEEN))

    # --- programs that hooks report ---------------------------------------------------------------------------

    @classmethod
    def from_jsonl(cls, record: Mapping[str, JSON], overrides: Mapping[str, Any] | None = None) -> "Process | None":
        """A program that a hook reports: ``{cmd, pwd, pid, exit_code, started_at, ended_at}``, twice with one ``id``.

        Its parent is ``overrides["process"]``, the hook's row; it serves what the hook serves.
        """
        hook: Process | None = (overrides or {}).get("process")
        if hook is None:
            return None
        report = ProgramReport.read(record)
        key = report.key or new_id()
        row = cls.objects.filter(pk=key).first() or cls._program_of(hook, key)
        if row.parent_id != hook.pk:
            return None  # a hook may speak only of what it started
        row.pwd = report.pwd or row.pwd or hook.pwd
        row.apply_report(report, hook)
        if row.start_ticks is None and row.pid is not None and not row.ended_at:
            row.start_ticks = start_of_descendant(row.pid, hook.identity)
        row.save()
        return row

    @classmethod
    def _program_of(cls, hook: "Process", key: UUID) -> "Process":
        """A program of this hook, not saved yet."""
        return cls(
            id=key,
            machine_id=hook.machine_id,
            parent_id=hook.pk,
            process_type=cls.TypeChoices.BINARY,
            boot_id=hook.boot_id,
            pid_ns=hook.pid_ns,
            plugin=hook.plugin,
            crawl_id=hook.crawl_id,
            snapshot_id=hook.snapshot_id,
            archiveresult_id=hook.archiveresult_id,
            binary_id=hook.binary_id,
        )

    def apply_report(self, report: ProgramReport, hook: "Process") -> None:
        """Take over what a report of ``hook`` says; what it leaves out stays."""
        self.cmd = self.cmd if report.cmd is None else report.cmd
        self.pid = report.pid or self.pid
        if report.start_ticks is not None and report.start_ticks >= (hook.start_ticks or 0):
            self.start_ticks = report.start_ticks  # what is older than its hook was not started by it
        self.started_at = report.started_at or self.started_at or timezone.now()
        ended_at = report.ended_at or (timezone.now() if report.exit_code is not None else None)
        if ended_at is not None:
            self.exit_code, self.ended_at = report.exit_code, ended_at
            self.end_reason = EndReason.SEALED if report.was_ended else end_reason_of(report.exit_code)
            self.set_columns(ProcessMachine.end.columns_of({}))
        elif self.status == self.StatusChoices.QUEUED:
            self.set_columns(ProcessMachine.begin.columns_of({}))


_ANCESTORS = """
WITH RECURSIVE up(id, parent_id, level) AS (
    SELECT id, parent_id, 0 FROM machine_process WHERE id = %s
    UNION ALL
    SELECT p.id, p.parent_id, up.level + 1 FROM machine_process p JOIN up ON p.id = up.parent_id WHERE up.level < 64
) SELECT p.* FROM machine_process p JOIN up ON p.id = up.id ORDER BY up.level
"""
_DESCENDANTS = """
WITH RECURSIVE down(id, level) AS (
    SELECT id, 0 FROM machine_process WHERE id = %s
    UNION ALL
    SELECT p.id, down.level + 1 FROM machine_process p JOIN down ON p.parent_id = down.id WHERE down.level < 64
) SELECT p.* FROM machine_process p JOIN down ON p.id = down.id ORDER BY down.level, p.id
"""


def _walk(query: str, start: UUID) -> list[Process]:
    key = Process._meta.pk.get_db_prep_value(start, connection)
    return list({row.pk: row for row in Process.objects.raw(query, [key])}.values())  # a circle comes by many times


register("Process", Process.from_jsonl)
