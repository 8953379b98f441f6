"""The row of a process: what it is, whose child, what it served, how it ended, and where its files lie."""

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from django.db import models
from django.utils import timezone

from archivebox.base_models.transitions import TabledRow
from archivebox.base_models.work import Request
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.records import EndReason
from archivebox.lib import processes
from archivebox.lib.processes import ExitStatus, Launch, ProcessIdentity
from archivebox.lib.urls import redacted
from archivebox.machine.host import Machine
from archivebox.machine.statemachines import ProcessMachine
from archivebox.storage.layout import hook_file

IDENTITY = ("boot_id", "pid_ns", "pid", "start_ticks", "started_at", "status")
"""Columns that say who a process is to the operating system."""


class ProcessRow(TabledRow):
    """The columns of a process, and what is read from them alone."""

    life = ProcessMachine

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
    declared = models.JSONField(null=True, blank=True, help_text="what a hook said of its own result up to there")

    crawl_id = models.UUIDField(null=True, blank=True)
    snapshot_id = models.UUIDField(null=True, blank=True)
    archiveresult_id = models.UUIDField(null=True, blank=True)
    binary_id = models.UUIDField(null=True, blank=True)
    request = models.CharField(max_length=8, choices=Request.choices, default=Request.NONE, blank=True)

    launch_env: Mapping[str, str] | None = None
    """The environment that it is launched with; it lives in the launching object only."""
    launch_fds: tuple[int, ...] = ()
    """Descriptors that it gets, under the same numbers; they live in the launching object only."""

    objects: ClassVar[Any]
    """The model's own, whose querysets speak of processes."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.process_type} {self.cmd_summary} (pid {self.pid})"

    # --- who it is to the operating system --------------------------------------------------------------------

    def set_identity(self, identity: ProcessIdentity) -> None:
        """Fill in who this is to the operating system; the row is RUNNING from here on."""
        self.set_columns(started_columns(identity, self.started_at))

    def set_columns(self, columns: Mapping[str, Any]) -> None:
        """Fill in columns by name; saves nothing."""
        for name, value in columns.items():
            setattr(self, name, value)

    @property
    def identity(self) -> ProcessIdentity | None:
        if self.pid is None or self.start_ticks is None:
            return None
        return ProcessIdentity(self.boot_id, self.pid_ns or 0, self.pid, self.start_ticks)

    # --- files ------------------------------------------------------------------------------------------------

    def _file(self, suffix: str) -> Path:
        if self.hook_name:
            return Path(hook_file(Path(self.pwd).parent, self.hook_name, self.pk, suffix))
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
            pass_fds=self.launch_fds,
        )

    # --- for people -------------------------------------------------------------------------------------------

    @property
    def argv(self) -> list[str]:
        """Its command line as people may see it: without passwords."""
        return redacted(str(word) for word in self.cmd)

    @property
    def kind(self) -> str:
        """Its type, or which kind of worker it is."""
        return self.worker_type or self.process_type

    @property
    def what(self) -> str:
        """The hook's name, or the command as somebody would type it: without folders, or the interpreter of modules."""
        if self.hook_name:
            return self.hook_name
        first, *rest = self.argv or [""]
        words = rest[rest.index("-m") + 1 :] if "-m" in rest[:3] else [first.rpartition("/")[2], *rest]
        if "--process-id" in words:  # its row's id, which is shown where ids are shown
            at = words.index("--process-id")
            words = words[:at] + words[at + 2 :]
        text = " ".join(words)
        return text if len(text) <= 100 else f"{text[:99]}…"

    @property
    def cmd_summary(self) -> str:
        """Its first 50 characters; of a hook from its own name on, since its interpreter and folder say nothing."""
        words = self.argv
        at = next((n for n, word in enumerate(words) if self.hook_name and word.endswith(f"/{self.hook_name}")), None)
        if at is not None:
            words[: at + 1] = [f"{self.plugin}/{self.hook_name}"]
        text = " ".join(words)
        return text if len(text) <= 50 else f"{text[:50]}…"

    @property
    def seconds(self) -> float | None:
        """How long it ran, or has been running."""
        if self.started_at is None:
            return None
        return ((self.ended_at or timezone.now()) - self.started_at).total_seconds()


def started_columns(identity: ProcessIdentity, started_at: datetime | None = None) -> dict[str, Any]:
    """What a row says of a process from its start on: the one place where a row becomes RUNNING."""
    columns = {
        "boot_id": identity.boot_id,
        "pid_ns": identity.pid_ns,
        "pid": identity.pid,
        "start_ticks": identity.start_ticks,
        "started_at": started_at or timezone.now(),
    }
    return ProcessMachine.begin.columns_of(columns)


def exited_columns(
    seen: ExitStatus, reason: EndReason | None = None, ended_at: datetime | None = None
) -> dict[str, Any]:
    """What a row says of a process after its end: the one place where a row becomes EXITED.

    ``reason``: why we ended it; None: what the kernel's status tells. What it used is NULL where nobody was told: no
    process ever had a memory of 0 bytes.
    """
    usage = (seen.user_seconds, seen.system_seconds, seen.max_rss) if seen.max_rss else (None, None, None)
    columns = {
        "ended_at": ended_at or timezone.now(),
        "end_reason": reason or end_reason_of(seen.exit_code),
        "exit_code": seen.exit_code,
        **dict(zip(("user_seconds", "system_seconds", "max_rss"), usage, strict=True)),
    }
    return ProcessMachine.end.columns_of(columns)


def is_gone(identity: ProcessIdentity) -> bool:
    """Whether it has surely ended: of an earlier boot, or looked for in our own pid namespace and not found."""
    return identity.boot_id != ProcessIdentity.current().boot_id or (identity.is_here() and not identity.is_alive())


def end_reason_of(exit_code: int | None) -> EndReason:
    if exit_code is None:
        return EndReason.LOST
    return EndReason.SIGNALLED if exit_code < 0 else EndReason.EXITED
