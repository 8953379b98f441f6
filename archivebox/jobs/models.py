"""Jobs as rows: what is to be done, to which Snapshots, and how far it is."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import UUID

from django.db import models, transaction
from django.db.models.fields.json import KT
from django.utils import timezone

from archivebox.base_models.literal import Literal
from archivebox.base_models.rows import Row
from archivebox.base_models.work import FREE_AND_WANTED, StoppableItem, WorkQuerySet
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.reasons import sentence
from archivebox.imports.sources import remove_upload
from archivebox.lib.jsonl import JSON
from archivebox.webhooks.models import Event
from archivebox.webhooks.outbox import enqueue_event

KEY_BYTES = 16
_IMPORT = models.Q(kind="import")
IMPORTING_PAGES = models.Q(kind="import_pages", status__in=["queued", "started", "paused"])
_MEASURING = models.Q(kind="measure", status__in=["queued", "started", "paused"])


class JobQuerySet(WorkQuerySet["Job"]):
    """Jobs, in the words people ask for them."""

    def imports(self) -> Self:
        return self.filter(kind=Literal(Job.Kind.IMPORT.value))

    def requested(self) -> Self:
        """Those that somebody asked for and may wait for: all but measuring, which is done when nothing else runs."""
        return self.exclude(kind=Job.Kind.MEASURE)


class Job(StoppableItem):
    """One thing that is done to many Snapshots. Which ones is decided once, at its beginning.

    They are divided into parts. A part is applied and marked as done in one transaction, so that nothing is done twice
    when a worker dies.
    """

    class Kind(models.TextChoices):
        TAG = "tag", "Add tags"
        UNTAG = "untag", "Take tags off"
        RETRY = "retry", "Try again"
        RECAPTURE = "recapture", "Capture again"
        REMOVE = "remove", "Remove"
        RESTORE = "restore", "Bring back"
        EXPORT = "export", "Export"
        VERIFY = "verify", "Verify files"
        SIGN = "sign", "Sign"
        COMPARE = "compare", "Measure replay"
        MEASURE = "measure", "Check replay quality"
        VISIBILITY = "visibility", "Change who sees it"
        PURGE = "purge", "Delete files of what was removed"
        IMPORT = "import", "Import"
        IMPORT_PAGES = "import_pages", "Import archived pages"
        INSPECT = "inspect", "Inspect before import"

    state_machine_name = "archivebox.jobs.statemachines.JobMachine"

    kind = models.CharField(max_length=16, choices=Kind.choices)
    query = models.TextField(blank=True, default="", help_text="which Snapshots; unless their keys were given")
    options = models.JSONField(default=dict, blank=True, help_text="what this kind needs to know")
    memory = models.JSONField(default=dict, blank=True, help_text="what it has to know from one part to the next")
    total = models.IntegerField(null=True, blank=True, help_text="Snapshots; empty until all are known")
    position = models.IntegerField(default=0, help_text="number of the next part")
    done = models.IntegerField(default=0)
    failed = models.IntegerField(default=0)
    problem = models.TextField(blank=True, default="", help_text="why it ended before all was done")
    ended_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Any]] = JobQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind"], condition=_MEASURING, name="one_job_measures"),
            models.UniqueConstraint(KT("memory__source"), condition=IMPORTING_PAGES, name="source_imported_once"),
        ]
        indexes = [
            models.Index(fields=["retry_at"], condition=FREE_AND_WANTED, name="job_due"),
            models.Index(fields=["id"], condition=models.Q(status__in=["queued", "started"]), name="job_open"),
            models.Index(fields=["created_by", "id"], name="job_own"),
            models.Index(fields=["id"], condition=_IMPORT, name="job_import"),
            models.Index(fields=["created_by", "id"], condition=_IMPORT, name="job_own_import"),
        ]

    def __str__(self) -> str:
        return self.get_kind_display()

    def end_with_reason(self, reason: str) -> None:
        self.transition("seal", problem=sentence(reason), attempts=0, ended_at=timezone.now())

    def enqueue_finished_event(self) -> None:
        """Tell webhooks, in the transaction of its seal, of what somebody asked for."""
        if self.kind == self.Kind.MEASURE:
            return
        numbers: dict[str, JSON] = {"total": self.total, "done": self.done, "failed": self.failed}
        enqueue_event(
            Event.JOB_FINISHED, self.pk, {"id": str(self.pk), "kind": self.kind, **numbers, "problem": self.problem}
        )

    def clear_away(self) -> None:
        """Delete what it has written, but for the file that it was to write: nobody would fetch half of one."""
        kept = self.memory.get("file") if self.status == self.StatusChoices.SEALED else None
        for path in DATA_FOLDER.exports.glob(f"{self.pk}.*"):
            if path.name != kept:
                transaction.on_commit(partial(path.unlink, missing_ok=True))
        if "upload" in self.memory and not self.awaits_decision:
            transaction.on_commit(partial(remove_upload, UUID(self.memory["upload"])))

    @property
    def awaits_decision(self) -> bool:
        """Whether it has read what somebody may import now, or leave."""
        is_read = self.kind == self.Kind.INSPECT and self.status == self.StatusChoices.SEALED
        return is_read and not self.problem and "import" not in self.memory

    @property
    def file(self) -> Path | None:
        """What an export has written; None for what is none, is not ready, or was deleted."""
        name = self.memory.get("file")
        path = DATA_FOLDER.exports / str(name)
        return path if name and self.status == self.StatusChoices.SEALED and path.is_file() else None


class JobPart(Row):
    """Some of a job's Snapshots, which are done together."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE)
    number = models.IntegerField()
    keys_packed = models.BinaryField(help_text="their keys, 16 bytes each")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="part_once_per_job")]

    def __str__(self) -> str:
        return f"part {self.number} of {self.job_id}"

    @property
    def keys(self) -> list[UUID]:
        packed = bytes(self.keys_packed)
        return [UUID(bytes=packed[at : at + KEY_BYTES]) for at in range(0, len(packed), KEY_BYTES)]


def packed(keys: Sequence[UUID]) -> bytes:
    return b"".join(key.bytes for key in keys)


class JobFailure(Row):
    """A Snapshot to which it could not be done, and why."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE)
    snapshot_id = models.UUIDField()
    sentence = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "snapshot_id"], name="failure_once_per_job")]
        indexes = [models.Index(fields=["job", "id"], name="failure_of_job")]

    def __str__(self) -> str:
        return self.sentence
