"""How the process that runs this very code finds, makes and ends its own row."""

import logging
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Self
from uuid import UUID

import psutil
from django.db import connections

from archivebox.base_models.rows import new_id
from archivebox.base_models.transient import retry_transient
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason
from archivebox.lib.processes import ExitStatus, ProcessIdentity
from archivebox.lib.urls import without_credentials
from archivebox.machine.host import Machine
from archivebox.machine.logtail import TAIL
from archivebox.machine.process_life import StartedProcess
from archivebox.machine.process_row import IDENTITY, exited_columns

log = logging.getLogger(__name__)

_current: dict[str, StartedProcess] = {}
_typed: list[str] = []
"""The command line of one that was forked to carry out what was typed elsewhere: the kernel shows its parent's."""


class OwnProcess(StartedProcess):
    """A process that may be the very one that runs this code."""

    class Meta:
        abstract = True

    @classmethod
    def current(cls) -> Self:
        """The row of this very process, made on first use with its parent, type and real command line."""
        known = _current.get("process")
        if isinstance(known, cls) and known.pid == os.getpid():
            return known
        row = cls.objects.get_by_pid(os.getpid()) or cls._record_self()
        _current["process"] = row
        return row

    @classmethod
    def _record_self(cls, process_id: UUID | None = None, **fields: object) -> Self:
        row = cls(
            id=process_id or new_id(),
            machine=Machine.current(),
            process_type=cls._detect_type(),
            cmd=[without_credentials(word) for word in _typed or command_line(os.getpid()) or sys.argv],
            pwd=str(Path.cwd()),
        )
        row.set_columns(fields if "parent_id" in fields else {"parent_id": cls._find_parent_id(), **fields})
        row.set_identity(ProcessIdentity.current())
        row.save(force_insert=True)
        return row

    @classmethod
    def begin(cls, process_id: UUID, **fields: object) -> Self:
        """Record this process under an id that its starter chose (``--process-id``), who may have made the row."""
        row: Self | None = cls.objects.filter(pk=process_id).first()
        if row is None:
            row = cls._record_self(process_id, **fields)
        else:
            row.set_columns(fields)
            row.set_identity(ProcessIdentity.current())
            row.save(update_fields=[*fields, *IDENTITY, "modified_at"])
        _current["process"] = row
        return row

    @classmethod
    def run_service(
        cls,
        process_id: UUID,
        orchestrator_id: UUID,
        name: str,
        work: Callable[[], None],
        *,
        while_away: Callable[[], object],
    ) -> int:
        """Do ``work``, for which the orchestrator has forked this process, on record; returns the exit status.

        ``while_away``: called again and again while the database cannot take the record of its start.
        """
        columns = {
            "process_type": cls.TypeChoices.WORKER,
            "worker_type": name,
            "parent_id": orchestrator_id,
            "cmd": ["archivebox", name],  # forked: the kernel shows its parent's
            "pwd": str(DATA_FOLDER.root),
        }
        process = retry_transient(lambda: cls.begin(process_id, **columns), before_again=while_away)
        connections.close_all()
        error: BaseException | None = None
        try:
            work()
        except Exception as problem:
            error = problem
            log.exception("The process %r broke action=%s_broke", name, name)
        code = process.finish_after(error)
        connections.close_all()
        return code

    @classmethod
    def _find_parent_id(cls) -> UUID | None:
        """The row named in our environment, else the first ancestor that has a row."""
        named = os.environ.get("ARCHIVEBOX_PROCESS_ID")
        if named:
            try:
                return UUID(named)
            except ValueError:
                pass  # set by somebody else; the walk below finds the truth
        ancestors = [ancestor.pid for ancestor in psutil.Process().parents()]
        known = {row.identity: row.pk for row in cls.objects.here().running().filter(pid__in=ancestors)}
        return next((known[identity] for identity in map(ProcessIdentity.of, ancestors) if identity in known), None)

    @classmethod
    def _detect_type(cls) -> str:
        """By the program's name and its command; never by its folder, which may be anybody's (``/home/worker/…``)."""
        program, command = Path(sys.argv[0]), sys.argv[1] if len(sys.argv) > 1 else ""
        for kind in (cls.TypeChoices.SUPERVISORD, cls.TypeChoices.ORCHESTRATOR, cls.TypeChoices.WORKER):
            if kind == command or program.stem.startswith(kind):
                return kind
        return cls.TypeChoices.CLI if "archivebox" in (program.stem, program.parent.name) else cls.TypeChoices.BINARY

    def finish(self, exit_code: int, error: str = "") -> None:
        """Record one's own end: for processes that nobody of ours waits for."""
        ended = exited_columns(ExitStatus(exit_code), EndReason.EXITED)
        columns = ended | {"stderr": without_credentials(error)[-TAIL:]}
        self.set_columns(columns)
        if not type(self).objects.filter(pk=self.pk).update(**columns):
            self.save(force_insert=True)  # the row was lost with the database server that had it

    def finish_after(self, error: BaseException | None, patience: float = math.inf) -> int:
        """Record one's own end, by this error if there is one, as soon as the database is there; returns the status.

        ``patience``: seconds after which it is not recorded.
        """
        code, text = (0, "") if error is None else (1, repr(error))
        self.record_end(lambda: self.finish(code, text), patience)
        return code


def forget_current_process() -> None:
    """Drop the cached row: after a fork to another collection, or between tests."""
    _current.clear()


def set_command_line(words: list[str]) -> None:
    """Have this process recorded as started by these words."""
    _typed[:] = words


def command_line(pid: int) -> list[str]:
    """The words a process was started with; none for one that is gone or not ours to read."""
    try:
        return psutil.Process(pid).cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []
