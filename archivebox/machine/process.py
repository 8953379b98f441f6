"""Every process we start: its row, its place in the tree, and the synchronous way to start, watch and end it."""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import UUID

import psutil
from django.db import connection, models
from django.db.models import Q
from django.utils import timezone

from archivebox.base_models.rows import Row, new_id
from archivebox.base_models.transitions import TransitionTable, transition
from archivebox.base_models.work import Request
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason, register
from archivebox.lib import processes
from archivebox.lib.jsonl import JSON
from archivebox.lib.processes import UNSEEN, ExitJournal, ExitStatus, Identity, Launch
from archivebox.machine.host import Machine
from archivebox.storage.layout import hook_file

TAIL = 2048
"""Bytes of each stream that the row keeps; the files keep the rest."""
DEEPEST = 64
"""Where recursive queries stop: no tree of ours is deeper, and a damaged one must not loop."""
IDENTITY = ("boot_id", "pid_ns", "pid", "start_ticks", "started_at", "status")
"""Columns that say who a process is to the operating system."""
LOST = -1
"""What ``poll`` and ``wait`` answer for a process whose status nobody saw."""

REAPER_TIME = 5.0
"""Seconds that ``wait`` without a limit gives the reaper of an ended process to say how it ended."""

_current: dict[str, "Process"] = {}
_children: dict[UUID, processes.Child] = {}
"""What :meth:`Process.launch` started here and nobody has reaped: any object of the row can wait for it."""


class ProcessQuerySet(models.QuerySet["Process"]):
    """Processes, in the words people ask for them."""

    def running(self) -> Self:
        return self.filter(status=Process.StatusChoices.RUNNING)

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

    def current(self) -> "Process":
        return Process.current()

    def get_by_pid(self, pid: int, machine: Machine | None = None) -> "Process | None":
        """The row of the process that has this pid *now*; None for a stranger that was given a used pid."""
        machine = machine or Machine.current()
        if machine.pk != Machine.current().pk:
            return None
        identity = Identity.of(pid)
        if identity is None:
            return None
        rows = self.on(machine).running().filter(pid=pid, start_ticks=identity.start_ticks)
        return rows.filter(boot_id=identity.boot_id, pid_ns=identity.pid_ns).first()


class Process(Row):
    """One process: what it is, whose child, what it served, how it ended."""

    class TypeChoices(models.TextChoices):
        CLI = "cli", "CLI command"
        SUPERVISORD = "supervisord", "Supervisord"
        ORCHESTRATOR = "orchestrator", "Orchestrator"
        WORKER = "worker", "Worker"
        HOOK = "hook", "Hook"
        BINARY = "binary", "Binary"

    class StatusChoices(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        EXITED = "exited", "exited"

    machine = models.ForeignKey(Machine, on_delete=models.CASCADE)
    parent = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.DO_NOTHING, related_name="children", db_constraint=False
    )
    process_type = models.CharField(
        max_length=16, choices=TypeChoices.choices, default=TypeChoices.BINARY, db_index=True
    )
    worker_type = models.CharField(max_length=16, blank=True, default="", help_text="worker, web or forkserver")
    status = models.CharField(max_length=16, choices=StatusChoices.choices, default=StatusChoices.QUEUED)
    plugin = models.CharField(max_length=64, blank=True, default="")
    hook_name = models.CharField(max_length=128, blank=True, default="")

    cmd = models.JSONField(default=list)
    pwd = models.CharField(max_length=512, blank=True, default="")
    env = models.JSONField(default=list, blank=True, help_text="names of what was set for it; never values")
    timeout = models.IntegerField(null=True, blank=True, help_text="seconds")

    boot_id = models.CharField(max_length=36, blank=True, default="")
    pid_ns = models.BigIntegerField(null=True, blank=True)
    pid = models.IntegerField(null=True, blank=True)
    start_ticks = models.BigIntegerField(null=True, blank=True)

    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    exit_code = models.IntegerField(null=True, blank=True, help_text="what wait reported: -N for signal N")
    end_reason = models.CharField(
        max_length=16, blank=True, default="", choices=[(r.value, r.value) for r in EndReason]
    )
    user_seconds = models.FloatField(null=True, blank=True)
    system_seconds = models.FloatField(null=True, blank=True)
    max_rss = models.BigIntegerField(null=True, blank=True, help_text="bytes")

    stdout = models.TextField(blank=True, default="", help_text="the last 2 KB")
    stderr = models.TextField(blank=True, default="", help_text="the last 2 KB")
    stdout_size = models.BigIntegerField(default=0)
    stderr_size = models.BigIntegerField(default=0)
    output_cut = models.BooleanField(default=False, help_text="whether output beyond the cap was let go")
    stdout_offset = models.BigIntegerField(default=0, help_text="bytes whose records are in the database")

    crawl_id = models.UUIDField(null=True, blank=True)
    snapshot_id = models.UUIDField(null=True, blank=True)
    archiveresult_id = models.UUIDField(null=True, blank=True)
    binary_id = models.UUIDField(null=True, blank=True)
    request = models.CharField(max_length=8, choices=Request.choices, default=Request.NONE, blank=True)

    objects: ClassVar[models.Manager[Any]] = ProcessQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "processes"
        indexes = [
            models.Index(fields=["parent", "status"], name="process_parent_status"),
            models.Index(fields=["machine", "pid"], condition=Q(status="running"), name="process_running"),
            models.Index(fields=["machine"], condition=~Q(request=""), name="process_request"),
            models.Index(fields=["crawl_id"], condition=Q(crawl_id__isnull=False), name="process_crawl"),
            models.Index(fields=["snapshot_id"], condition=Q(snapshot_id__isnull=False), name="process_snapshot"),
        ]

    launch_env: Mapping[str, str] | None = None
    """The environment that :meth:`launch` gives; it lives in the launching object only."""

    def __str__(self) -> str:
        return f"{self.process_type} {self.cmd_summary} (pid {self.pid})"

    # --- who am I ---------------------------------------------------------------------------------------------

    @classmethod
    def current(cls) -> "Process":
        """The row of this very process, made on first use with its parent, type and real command line."""
        known = _current.get("process")
        if known and known.pid == os.getpid():
            return known
        row = cls.objects.get_by_pid(os.getpid()) or cls._record_self()
        _current["process"] = row
        return row

    @classmethod
    def _record_self(cls, process_id: UUID | None = None) -> "Process":
        row = cls(
            id=process_id or new_id(),
            machine=Machine.current(),
            parent_id=cls._find_parent_id(),
            process_type=cls._detect_type(),
            cmd=command_line(os.getpid()) or sys.argv,
            pwd=str(Path.cwd()),
        )
        row.take_identity(Identity.current())
        row.save(force_insert=True)
        return row

    @classmethod
    def begin(cls, process_id: UUID, **fields: object) -> "Process":
        """Record this process under an id that its starter chose (``--process-id``), who may have made the row."""
        row = cls.objects.filter(pk=process_id).first()
        if row is None:
            row = cls._record_self(process_id)
        else:
            row.take_identity(Identity.current())
            row.save(update_fields=[*IDENTITY, "modified_at"])
        for name, value in fields.items():
            setattr(row, name, value)
        row.save(update_fields=[*fields, "modified_at"])
        _current["process"] = row
        return row

    @classmethod
    def _find_parent_id(cls) -> UUID | None:
        """The row named in our environment, else the first ancestor that has a row."""
        named = os.environ.get("ARCHIVEBOX_PROCESS_ID")
        if named:
            try:
                return UUID(named)
            except ValueError:
                pass  # set by somebody else; the walk below finds the truth
        for ancestor in psutil.Process().parents():
            row = cls.objects.get_by_pid(ancestor.pid)
            if row:
                return row.pk
        return None

    @classmethod
    def _detect_type(cls) -> str:
        """By the program's name and its command; never by its folder, which may be anybody's (``/home/worker/…``)."""
        program, command = Path(sys.argv[0]), sys.argv[1] if len(sys.argv) > 1 else ""
        for kind in (cls.TypeChoices.SUPERVISORD, cls.TypeChoices.ORCHESTRATOR, cls.TypeChoices.WORKER):
            if kind == command or program.stem.startswith(kind):
                return kind
        return cls.TypeChoices.CLI if "archivebox" in (program.stem, program.parent.name) else cls.TypeChoices.BINARY

    def take_identity(self, identity: Identity) -> None:
        """Fill in who this is to the operating system; the row is RUNNING from here on."""
        self.boot_id, self.pid_ns, self.pid, self.start_ticks = identity
        self.started_at = self.started_at or timezone.now()
        self.status = self.StatusChoices.RUNNING

    @property
    def identity(self) -> Identity | None:
        if self.pid is None or self.start_ticks is None:
            return None
        return Identity(self.boot_id, self.pid_ns or 0, self.pid, self.start_ticks)

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

    # --- what the operating system says -----------------------------------------------------------------------

    @property
    def proc(self) -> psutil.Process | None:
        """Psutil's view; None when it is gone, its pid belongs to a stranger, or it is of another machine."""
        identity = self.identity
        if identity is None or self.machine_id != Machine.current().pk or not identity.is_alive():
            return None
        try:
            return psutil.Process(identity.pid)
        except psutil.NoSuchProcess:
            return None

    @property
    def is_running(self) -> bool:
        proc = self.proc
        return proc is not None and self.status != self.StatusChoices.EXITED and not _is_zombie(proc)

    def is_alive(self) -> bool:
        return self.is_running

    def get_memory_info(self) -> dict[str, int] | None:
        proc = self.proc
        if proc is None:
            return None
        try:
            memory = proc.memory_info()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return None
        return {"rss": memory.rss, "vms": memory.vms}

    def get_cpu_percent(self) -> float | None:
        proc = self.proc
        if proc is None:
            return None
        try:
            return proc.cpu_percent(interval=0.1)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return None

    def get_children_pids(self) -> list[int]:
        proc = self.proc
        if proc is None:
            return []
        try:
            return [child.pid for child in proc.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    # --- files ------------------------------------------------------------------------------------------------

    def _file(self, suffix: str) -> Path:
        if self.hook_name:
            return hook_file(Path(self.pwd).parent, self.hook_name, self.pk, suffix)
        return DATA_FOLDER.logs / f"{self.worker_type or self.process_type}.{self.pk}.{suffix}"

    @property
    def pid_file(self) -> Path:
        return self._file("pid")

    @property
    def cmd_file(self) -> Path:
        return self._file("cmd.sh")

    @property
    def stdout_file(self) -> Path:
        return self._file("stdout.log")

    @property
    def stderr_file(self) -> Path:
        return self._file("stderr.log")

    # --- life -------------------------------------------------------------------------------------------------

    def as_launch(self) -> Launch:
        """What is handed to the operating system for this row."""
        mark = processes.mark_environment(str(self.pk), DATA_FOLDER.root)
        return Launch(
            process_id=str(self.pk),
            argv=tuple(self.cmd),
            cwd=Path(self.pwd),
            env={**(self.launch_env if self.launch_env is not None else os.environ), **mark},
            stdout=self.stdout_file,
            stderr=self.stderr_file,
        )

    def launch(self, background: bool = False, body: Callable[[], int] | None = None) -> Self:
        """Start it. In the foreground: wait, end the whole tree at ``timeout``, and record how it ended.

        ``body``: go on with this function in a forked child, instead of starting ``cmd``.
        """
        Path(self.pwd).mkdir(parents=True, exist_ok=True)
        self.stdout_file.parent.mkdir(parents=True, exist_ok=True)
        if self._state.adding:
            self.save(force_insert=True)  # on record before it can have an effect
        try:
            launch = self.as_launch()
            child = processes.spawn(launch) if body is None else processes.fork(launch, body)
        except OSError as error:
            self._close_unstarted(error)
            raise
        _children[self.pk] = child
        self.take_identity(child.identity)
        self.save(update_fields=[*IDENTITY, "modified_at"])
        if not background:
            self._wait_in_foreground()
        return self

    def _close_unstarted(self, error: OSError) -> None:
        """Its program, folder or files could not be opened: nothing ran, so that there is no exit code."""
        self.status, self.end_reason, self.ended_at = self.StatusChoices.EXITED, EndReason.LOST, timezone.now()
        self.stderr = str(error)[-TAIL:]
        self.save(update_fields=["status", "end_reason", "ended_at", "stderr", "modified_at"])

    def _wait_in_foreground(self) -> None:
        try:
            self.wait()
        except TimeoutError:
            self.end_reason = EndReason.TIMEOUT
            self.terminate()

    def poll(self) -> int | None:
        """The exit code; None while it runs, is not started, or its reaper has not looked; -1 if nobody saw it."""
        if self.status == self.StatusChoices.EXITED:
            return LOST if self.exit_code is None else self.exit_code
        if (child := _children.get(self.pk)) is not None:
            seen = child.peek()
            return None if seen is None else self._settle(seen)
        # First the process, then the row: its reaper commits before it reaps, so that a row read after the end is true.
        identity = self.identity
        gone = identity is not None and _is_gone(identity)
        self.refresh_from_db()
        if self.status == self.StatusChoices.EXITED:
            return self.poll()
        if identity is None or not gone or self.machine_id != Machine.current().pk:
            return None
        return self._settle(ExitJournal(DATA_FOLDER.exits).read(identity) or UNSEEN)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, at most ``timeout`` seconds (None: the row's). Raises TimeoutError."""
        timeout = self.timeout if timeout is None else timeout
        if (child := _children.get(self.pk)) is not None and self.status != self.StatusChoices.EXITED:
            return self._settle(processes.wait(child, timeout))
        deadline = None if timeout is None else time.monotonic() + timeout
        identity = self.identity
        if identity is not None and self.poll() is None:
            processes.wait_gone(identity, timeout)
        return self._wait_for_row(time.monotonic() + REAPER_TIME if deadline is None else deadline)

    def _wait_for_row(self, deadline: float) -> int:
        """A zombie's reaper, or its own machine, still has to say how it ended; no event tells of either."""
        while (code := self.poll()) is None:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"nobody said in time how process {self.pk} (pid {self.pid}) ended")
            time.sleep(0.05)
        return code

    def _settle(self, seen: ExitStatus) -> int:
        """Write down what the kernel reported, then reap."""
        self.settle(seen)
        self.save()
        child = _children.pop(self.pk, None)
        if child is not None:
            child.reap()
        return LOST if self.exit_code is None else self.exit_code

    def settle(self, seen: ExitStatus) -> None:
        """Take over what ``wait`` reported and the tails of its output; saves nothing."""
        self.exit_code = seen.exit_code
        self.user_seconds, self.system_seconds, self.max_rss = seen.user_seconds, seen.system_seconds, seen.max_rss
        self.ended_at = timezone.now()
        self.status = self.StatusChoices.EXITED
        self.end_reason = self.end_reason or _end_reason(seen.exit_code)
        self.stdout, self.stdout_size = read_tail(self.stdout_file)
        self.stderr, self.stderr_size = read_tail(self.stderr_file)

    @property
    def _is_visible(self) -> bool:
        """Whether this machine and this pid namespace can tell whether it lives."""
        identity = self.identity
        hidden = identity is not None and not identity.is_here() and not _is_gone(identity)
        return self.machine_id == Machine.current().pk and not hidden

    def kill(self, signal_num: int = signal.SIGTERM) -> bool:
        """Signal this one process, never a stranger that has its pid now. True when it is gone afterwards."""
        identity = self.identity
        if identity is None or not self._is_visible:
            return False
        identity.signal(signal_num)
        try:
            processes.wait_gone(identity, 0.1 if signal_num == signal.SIGKILL else 0)
        except TimeoutError:
            return False
        self.poll()
        return True

    def terminate(self, grace: float = 5.0) -> bool:
        """TERM to the whole tree, ``grace`` seconds, KILL, again until nothing is left."""
        if not self._is_visible:
            return False
        gone = processes.Tree(root=self.identity, process_id=str(self.pk), data_dir=DATA_FOLDER.root).end_blocking(
            grace=grace
        )
        self.poll()
        return gone

    def kill_tree(self) -> bool:
        """KILL to the whole tree at once."""
        return self.terminate(grace=0.0)

    def finish(self, exit_code: int, error: str = "") -> None:
        """Record one's own end: for processes that nobody of ours waits for."""
        self.exit_code = exit_code
        self.ended_at = timezone.now()
        self.status = self.StatusChoices.EXITED
        self.end_reason = EndReason.EXITED
        self.stderr = error[-TAIL:]
        fields = ["exit_code", "ended_at", "status", "end_reason", "stderr", "modified_at"]
        self.save(update_fields=fields)

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
            (row.pk, row.identity)
            for row in cls.objects.on(machine).running().only("boot_id", "pid_ns", "pid", "start_ticks").iterator()
            if row.identity is None or _is_gone(row.identity)
        ]
        journal = ExitJournal(DATA_FOLDER.exits)
        return sum(cls._close_gone(key, journal.read(identity) if identity else None) for key, identity in gone)

    @classmethod
    def _close_gone(cls, key: UUID, seen: ExitStatus | None) -> int:
        """Close one row unless its reaper, who commits before he reaps, has done so meanwhile."""
        code = seen.exit_code if seen else None
        fields = {"ended_at": timezone.now(), "exit_code": code, "end_reason": _end_reason(code)}
        return ProcessMachine.apply(cls.objects.filter(pk=key), ProcessMachine.lose, **fields)

    @classmethod
    def lose_programs(cls, **work: object) -> int:
        """Close the programs that hooks of this work reported and whose end they did not: their trees have ended."""
        rows = cls.objects.running().of_type(cls.TypeChoices.BINARY).filter(**work)
        return ProcessMachine.apply(rows, ProcessMachine.lose, ended_at=timezone.now(), end_reason=EndReason.LOST)

    # --- for people -------------------------------------------------------------------------------------------

    @property
    def cmd_summary(self) -> str:
        text = " ".join(str(word) for word in self.cmd)
        return text if len(text) <= 50 else f"{text[:50]}…"

    @property
    def seconds(self) -> float | None:
        """How long it ran, or has been running."""
        if self.started_at is None:
            return None
        return ((self.ended_at or timezone.now()) - self.started_at).total_seconds()

    @classmethod
    def from_jsonl(cls, record: Mapping[str, JSON], overrides: Mapping[str, Any] | None = None) -> "Process | None":
        """A program that a hook reports: ``{cmd, pwd, pid, exit_code, started_at, ended_at}``, twice with one ``id``.

        Its parent is ``overrides["process"]``, the hook's row; it serves what the hook serves.
        """
        hook: Process | None = (overrides or {}).get("process")
        if hook is None:
            return None
        key = _uuid_or_none(record.get("id")) or new_id()
        ended = parse_time(record.get("ended_at"))
        known = cls.objects.filter(pk=key).first()
        if known is not None and known.parent_id != hook.pk:
            return None  # a hook may speak only of what it started
        row = known or cls(
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
        cmd = record.get("cmd")
        row.cmd = [str(word) for word in cmd] if isinstance(cmd, list) else row.cmd
        row.pwd = str(record.get("pwd") or row.pwd or hook.pwd)[:512]
        row.pid = _int_or_none(record.get("pid")) or row.pid
        row.start_ticks = _int_or_none(record.get("start_ticks"), 2**63 - 1) or row.start_ticks
        row.started_at = parse_time(record.get("started_at")) or row.started_at or timezone.now()
        row.exit_code = _int_or_none(record.get("exit_code"))
        row.ended_at = ended or (timezone.now() if row.exit_code is not None else None)
        row.status = cls.StatusChoices.EXITED if row.ended_at else cls.StatusChoices.RUNNING
        row.end_reason = _end_reason(row.exit_code) if row.ended_at else ""
        if row.start_ticks is None and row.pid is not None and not row.ended_at:
            row.start_ticks = _start_of_descendant(row.pid, hook)
        row.save()
        return row


class ProcessMachine(TransitionTable):
    """The life of a Process: queued → running → exited."""

    model = Process
    begin = transition("queued", to="running")
    end = transition("queued", "running", to="exited")
    lose = transition("queued", "running", to="exited")


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


def forget_current_process() -> None:
    """Drop the cached row: after a fork to another collection, or between tests."""
    _current.clear()


def _walk(query: str, start: UUID) -> list[Process]:
    key = Process._meta.pk.get_db_prep_value(start, connection)
    return list({row.pk: row for row in Process.objects.raw(query, [key])}.values())  # a circle comes by many times


def command_line(pid: int) -> list[str]:
    """The words a process was started with; none for one that is gone or not ours to look at."""
    try:
        return psutil.Process(pid).cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []


def _is_gone(identity: Identity) -> bool:
    """Whether it has surely ended: of an earlier boot, or looked for in our own pid namespace and not found."""
    return identity.boot_id != Identity.current().boot_id or (identity.is_here() and not identity.is_alive())


def _is_zombie(proc: psutil.Process) -> bool:
    try:
        return proc.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _end_reason(exit_code: int | None) -> EndReason:
    if exit_code is None:
        return EndReason.LOST
    return EndReason.SIGNALLED if exit_code < 0 else EndReason.EXITED


def read_tail(path: Path) -> tuple[str, int]:
    """The last 2 KB of a log as text, and the size of the whole in bytes; any bytes are tolerated."""
    try:
        log = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return "", 0
    try:
        size = os.fstat(log).st_size
        data = os.pread(log, TAIL, max(0, size - TAIL)) if size else b""
    finally:
        os.close(log)
    return data.decode("utf-8", "replace").replace("\0", "\ufffd"), size


def parse_time(value: JSON) -> datetime | None:
    """An ISO 8601 time or seconds since the epoch, as hooks write them; None for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, tz=UTC)
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _uuid_or_none(value: JSON) -> UUID | None:
    try:
        return UUID(str(value)) if value else None
    except ValueError:
        return None


def _int_or_none(value: JSON, most: int = 2**31 - 1) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= most else None


def _start_of_descendant(pid: int, hook: Process) -> int | None:
    """When the live process with this pid started, if it can be the hook's: of its namespace, and not older than it."""
    identity, parent = Identity.of(pid), hook.identity
    if identity is None or parent is None or identity[:2] != parent[:2] or identity.start_ticks < parent.start_ticks:
        return None
    return identity.start_ticks


register("Process", Process.from_jsonl)
