"""ArchiveResults: what one hook made of one Snapshot."""

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import UUID

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils import timezone

from archivebox.base_models.literal import Literal, one_of
from archivebox.base_models.transitions import TabledQuerySet, TabledRow
from archivebox.base_models.work import LONGEST_BACK_OFF, MOST_BACK_OFF
from archivebox.contract.hook import Hook
from archivebox.contract.hooknames import LAST_STEP
from archivebox.contract.outcomes import (
    DECLARABLE,
    DECLARABLE_REASONS,
    EndedRun,
    Outcome,
    Retry,
    Status,
    outcome,
)
from archivebox.contract.reasons import Reason
from archivebox.contract.records import EndReason, LineReader, Record, parse_line
from archivebox.core.intake.add_urls import add_found_urls
from archivebox.core.outputs.output_files import Claim, Listing, list_outputs
from archivebox.core.progress.result_summary import COLUMNS, ResultLine, action_of, sentence_of
from archivebox.core.snapshot import Snapshot
from archivebox.core.statemachines import ArchiveResultMachine
from archivebox.hooks import discover_hooks, extract_step, process_hook_records
from archivebox.lib.jsonl import JSON
from archivebox.machine.host import NetworkInterface
from archivebox.machine.logtail import read_blocks
from archivebox.machine.process import Process

FAILED = Q(status="failed")
MAX_ATTEMPTS = 3
FOREIGN_STATUS = re.compile(r"page loaded http=([1-5]\d\d)", re.ASCII)
"""What the navigation hook of abx-plugins prints as its output: the HTTP status of the page."""
FIRST_BACK_OFF = timedelta(minutes=1)
IDLE_WAIT = timedelta(minutes=10)
"""How long after its back-off a retry waits at most for the machine to be idle."""


def back_off(attempts: int) -> timedelta:
    """How long to wait after the ``attempts``-th failed run: 1 min, 4 min, 16 min ± 20 %, at most an hour."""
    return _plain_back_off(attempts) * random.uniform(0.8, 1.2)  # noqa: S311 - spreads retries, guards no secret


def is_due_when_idle(ended: datetime | None, retry_at: datetime | None, attempts: int, now: datetime) -> bool:
    """Whether the back-off after a run is over, and the retry waits for nothing but an idle machine."""
    if ended is None or retry_at is None:
        return False
    plain = _plain_back_off(attempts)
    return ended + plain * 1.2 <= now and ended + plain * 0.8 + IDLE_WAIT <= retry_at


def earliest_retry(retry_at: datetime, attempts: int) -> datetime:
    """From when a hook is tried again if its page is opened anyway: each opening is a visit to the site."""
    return retry_at - _plain_back_off(attempts) / 2


def _plain_back_off(attempts: int) -> timedelta:
    plain: timedelta = min(FIRST_BACK_OFF * 4 ** max(0, attempts - 1), LONGEST_BACK_OFF)
    return plain


class ArchiveResultQuerySet(TabledQuerySet["ArchiveResult"]):
    """ArchiveResults, in the words people ask for them."""

    def foreground(self) -> Self:
        return self.exclude(hook_name__contains=".bg.")

    def background(self) -> Self:
        return self.filter(hook_name__contains=".bg.")

    def in_step(self, step: int) -> Self:
        """Those whose hook runs in this step; hooks without a number run in the last."""
        numbered = Q(hook_name__regex=rf"__{step}[0-9]_")
        return self.filter(numbered | ~Q(hook_name__regex=r"__[0-9]{2}_") if step == LAST_STEP else numbered)

    def unfinished(self) -> Self:
        """Neither final nor waiting for a retry."""
        return self.filter(status__in=one_of(*sorted(ArchiveResultMachine.OPEN)))

    def started(self) -> Self:
        return self.filter(status=Literal(ArchiveResult.StatusChoices.STARTED))

    def final(self) -> Self:
        return self.filter(status__in=ArchiveResultMachine.FINAL)

    def in_back_off(self) -> Self:
        return self.filter(status=Literal(ArchiveResult.StatusChoices.BACKOFF))

    def succeeded(self) -> Self:
        return self.filter(status=ArchiveResult.StatusChoices.SUCCEEDED)

    def lines(self) -> Iterator[ResultLine]:
        """The same for lists, without models."""
        return (ResultLine(*row) for row in self.values_list(*COLUMNS).iterator())

    def cancel(self) -> int:
        """Those that are not final never run (again). Returns how many."""
        return self.transition("skip", reason=Reason.CANCELLED, retry_at=None)


class ArchiveResult(TabledRow):
    """One hook of one Snapshot: the journal line that the Snapshot's worker keeps.

    ``retry_at`` is NULL exactly when it does not want to run; one that is final has it when it was asked for again.
    """

    class StatusChoices(models.TextChoices):
        QUEUED = "queued", "queued"
        STARTED = "started", "started"
        BACKOFF = "backoff", "waits for its retry"
        SUCCEEDED = "succeeded", "succeeded"
        NORESULTS = "noresults", "no results"
        FAILED = "failed", "failed"
        SKIPPED = "skipped", "skipped"

    life = ArchiveResultMachine

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, db_index=False)  # its constraint begins with it
    plugin = models.CharField(max_length=64)
    hook_name = models.CharField(max_length=128, null=True, blank=True, help_text="empty: an imported row")
    status = models.CharField(max_length=16, choices=StatusChoices.choices, default=StatusChoices.QUEUED)
    retry_at = models.DateTimeField(null=True, blank=True)
    attempts = models.IntegerField(default=0, help_text="runs that ended by themselves or by time-out")
    reason = models.CharField(max_length=128, blank=True, default="")
    pwd = models.CharField(max_length=512, blank=True, default="")
    start_ts = models.DateTimeField(null=True, blank=True)
    end_ts = models.DateTimeField(null=True, blank=True)
    output_str = models.TextField(blank=True, default="")
    output_json = models.JSONField(null=True, blank=True)
    output_files = models.JSONField(default=dict, blank=True, help_text="path → {size, mimetype}")
    output_size = models.BigIntegerField(default=0, help_text="bytes")
    output_mimetypes = models.CharField(max_length=512, blank=True, default="")
    process = models.ForeignKey(
        Process, null=True, blank=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+",
        help_text="the hook's Process of the latest attempt",
    )  # fmt: skip
    iface = models.ForeignKey(NetworkInterface, null=True, blank=True, on_delete=models.SET_NULL)
    """By which the connections of the latest attempt left; None: it made none, or did not say that they are its."""

    objects: ClassVar[models.Manager[Any]] = ArchiveResultQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["snapshot", "plugin", "hook_name"], name="result_once_per_hook")]
        indexes = [
            models.Index(fields=["retry_at"], condition=Q(status="backoff"), name="result_backoff"),
            models.Index(fields=["reason"], condition=~Q(reason=""), name="result_reason"),
            models.Index(fields=["status"], condition=Q(status__in=["queued", "started"]), name="result_open"),
            models.Index(fields=["plugin", "snapshot"], condition=Q(status="succeeded"), name="result_kept_by"),
            # Failures are few: they are found, and counted, by reason and by plugin without looking at the rest.
            models.Index(fields=["reason", "plugin", "snapshot"], condition=FAILED, name="result_failed_for"),
            models.Index(fields=["plugin", "snapshot"], condition=FAILED, name="result_failed_in"),
            models.Index(fields=["snapshot"], condition=FAILED, name="result_failed_of"),
        ]

    def __str__(self) -> str:
        return f"{self.plugin}: {self.status}"

    @property
    def step(self) -> int:
        return extract_step(self.hook_name or "")

    @property
    def output_dir(self) -> str:
        return f"{self.snapshot.output_dir}/{self.plugin}"

    @property
    def created_by(self) -> User:
        return self.snapshot.created_by

    @property
    def sentence(self) -> str:
        """Why it is as it is, for people: in the hook's own words where it said them."""
        return sentence_of(self.reason, self.output_str)

    @property
    def action(self) -> str:
        """What to do about it, for people."""
        return action_of(self.reason, self.process_id)

    def run(self) -> None:
        """Have workers run its hook (again), and wait until they have; see :meth:`Process.run_archivebox`.

        One that names no hook, of an import, comes to what the worst of its plugin's hooks came to.
        """
        if self.hook_name is not None:
            self._run_by_workers(self.pk)
            return
        self.snapshot.create_pending_archiveresults()
        hooks = self.snapshot.archiveresult_set.filter(plugin=self.plugin, hook_name__isnull=False)
        if first := hooks.first():
            self._run_by_workers(first.pk)
        if self.status in ArchiveResultMachine.OPEN:
            missing = ("failed", Reason.MISSING_PLUGIN)
            came_to = hooks.values_list("status", "reason")
            status, reason = max(came_to, key=lambda one: _WORSE.index(one[0]), default=missing)
            self._settle({"status": status, "reason": reason, "end_ts": timezone.now(), "retry_at": None})

    def _run_by_workers(self, key: UUID) -> None:
        Process.run_archivebox("run", "--archiveresult", str(key))
        self.refresh_from_db()

    def update_from_output(self) -> None:
        """Take over what its process left: records of its log, files of its folder, its exit."""
        if self.process is not None:
            self._settle(self._outcome_of(self.process))

    def _outcome_of(self, process: Process) -> dict[str, Any]:
        """Take the records of one run; the columns that it comes to."""
        records = list(read_records(process.stdout_file))
        found = [record.fields for record in records if record.type == "Snapshot" and not record.fields.get("id")]
        if found:
            add_found_urls(self.snapshot, found)
        others = [record for record in records if record.type != "Snapshot" or record.fields.get("id")]
        process_hook_records(others, {"snapshot": self.snapshot, "crawl": self.snapshot.crawl, "process": process})
        declared = declared_in(records)
        key = (self.plugin, process.hook_name)
        hook = next(hook for hook in discover_hooks("Snapshot") if (hook.plugin, hook.file_name) == key)
        files = list_outputs(Path(self.pwd), Claim(hook.name.what))
        end_reason = EndReason(process.end_reason or EndReason.LOST)
        ending = ended_run_of(
            hook, declared, files, exit_code=process.exit_code, end_reason=end_reason, stderr=process.stderr
        )
        result = outcome(ending)
        if told := told_by_result(hook, declared):
            store_unless_told(self.snapshot_id, told)
        return settled_columns(result, declared, attempts=self.attempts, now=timezone.now()) | files.columns

    def _settle(self, columns: dict[str, Any]) -> None:
        self.transition(ArchiveResultMachine.BY_STATUS[str(columns.pop("status"))], **columns)


_WORSE = ("skipped", "noresults", "succeeded", "started", "queued", "backoff", "failed")
"""Outcomes of the hooks of one plugin, the one that decides last."""


# --- what a run comes to, for workers and `update_from_output` --------------------------------------------------------


def read_records(log: Path) -> Iterator[Record]:
    """Every record in a hook's stdout log, a block of it in memory at a time; other lines are text for people."""
    reader = LineReader()
    for position, block in read_blocks(log):
        reader.pass_over(position - reader.position)
        yield from _records_in(reader.feed(block))
    yield from _records_in(reader.close())


def _records_in(lines: Iterable[bytes]) -> Iterator[Record]:
    return (record for line in lines if (record := parse_line(line)) is not None)


REFUSED = "refused"
"""The field that the engine, and no hook, puts among what a hook said of its result: see :class:`Declaration`."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a hook said of its own result, in an ``ArchiveResult`` record."""

    status: Status | None
    output_str: str = ""
    output_json: JSON = None
    unknown: str = ""
    """What it said instead of a status that exists."""
    again: Retry | None = None
    """What it said of trying again."""
    why: Reason | None = None
    """The reason that it said."""
    refused: str = ""
    """The reason code, where a record of it was not taken."""
    after: int = 0
    """Seconds for which the server wishes to be left alone, as it said; 0: it did not."""

    @property
    def is_final_failure(self) -> bool:
        """Whether it said that trying again is in vain."""
        return self.status is Status.FAILED and self.again is None

    @classmethod
    def of(cls, record: Record) -> Self:
        status, retry = record.fields.get("status"), record.fields.get("retry")
        known = Status(status) if isinstance(status, str) and status in DECLARABLE else None
        unknown = "" if known or status is None else str(status)[:60]
        again = Retry(retry) if isinstance(retry, str) and retry in set(Retry) else None
        reason = record.fields.get("reason")
        why = Reason(reason) if isinstance(reason, str) and reason in DECLARABLE_REASONS else None
        said = str(record.fields.get("output_str") or "")
        refused = str(record.fields.get(REFUSED) or "")
        asked = record.fields.get("retry_after")
        after = asked if isinstance(asked, int) and asked > 0 else 0
        return cls(known, said, record.fields.get("output_json"), unknown, again, why, refused, after)


def declared_in(records: Iterable[Record]) -> Declaration | None:
    """What the hook said of its own result; its last word counts."""
    last: Declaration | None = None
    for record in records:
        if record.type == "ArchiveResult":
            last = Declaration.of(record)
    return last


def told_by_result(hook: Hook, declared: Declaration | None) -> dict[str, str | int]:
    """Columns of the page that a hook tells as its result alone: its title, or its status (abx-plugins' navigation)."""
    if declared is None or declared.status is not Status.SUCCEEDED:
        return {}
    if hook.name.what == "title" and (title := " ".join(declared.output_str.split())[:512]):
        return {"title": title}
    loaded = FOREIGN_STATUS.fullmatch(declared.output_str) if hook.is_navigation else None
    return {"http_status": int(loaded[1])} if loaded else {}


def store_unless_told(snapshot_id: UUID, columns: Mapping[str, str | int]) -> None:
    """What a Snapshot record said before stays."""
    empty = {name: type(value)() for name, value in columns.items()}
    Snapshot.objects.filter(pk=snapshot_id, **empty).update(**columns)


def ended_run_of(
    hook: Hook,
    declared: Declaration | None,
    files: Listing,
    *,
    exit_code: int | None,
    end_reason: EndReason,
    stderr: str = "",
    taken_over: bool = False,
    unwatched: bool = False,
    released: bool = False,
    killed_early: bool = False,
) -> EndedRun:
    """A run as the contract's table speaks of it; ``files``: what lies in its folder."""
    return EndedRun(
        exit_code=exit_code,
        end_reason=end_reason,
        declared=declared.status if declared else None,
        why=declared.why if declared else None,
        again=declared.again if declared else None,
        unknown=declared.unknown if declared else "",
        refused=declared.refused if declared else "",
        wrote_files=files.wrote_files,
        wrote_bytes=files.wrote_bytes,
        background=hook.background,
        finite=hook.finite,
        listens=hook.listens,
        session=hook.session,
        newer_dialect=hook.newer_dialect,
        stderr=stderr,
        taken_over=taken_over,
        unwatched=unwatched,
        released=released,
        killed_early=killed_early,
    )


def settled_columns(
    result: Outcome,
    declared: Declaration | None,
    *,
    attempts: int,
    now: datetime,
    limit: int = MAX_ATTEMPTS,
    when_idle: bool = False,
) -> dict[str, Any]:
    """The columns of an ArchiveResult after a run: final, in back-off, or back in the queue.

    ``when_idle``: its retry waits for the machine to be idle, too, unless the server said when to come.
    """
    attempts += 1 if result.counts else 0
    columns: dict[str, Any] = {
        "status": result.status,
        "attempts": attempts,
        "reason": result.code[:128],
        "end_ts": now,
        "retry_at": None,
    }
    if declared is not None:
        columns |= {"output_str": declared.output_str, "output_json": declared.output_json}
    if result.status is Status.QUEUED:
        columns["retry_at"] = now
    elif result.retry and attempts < limit:
        columns |= {"status": "backoff", "retry_at": now + _until_retry(attempts, declared, when_idle=when_idle)}
    return columns


def _until_retry(attempts: int, declared: Declaration | None, *, when_idle: bool) -> timedelta:
    """How long a retry waits: as long as the server said (RFC 9110, 10.2.3), else by back-off."""
    if declared is None or not declared.after:
        return min(back_off(attempts) + when_idle * IDLE_WAIT, MOST_BACK_OFF)
    return min(timedelta(seconds=declared.after), LONGEST_BACK_OFF)
