"""The programs that plugins need, as they are on each machine."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import UUID

from django.db import models

from archivebox.base_models.rows import new_id
from archivebox.base_models.users import system_user
from archivebox.base_models.work import WorkItem, WorkQuerySet
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.binaries import BinaryRequest, parse_request
from archivebox.contract.records import register
from archivebox.lib.jsonl import JSON
from archivebox.machine.host import Machine
from archivebox.machine.process import Process


class BinaryQuerySet(WorkQuerySet["Binary"]):
    """Binaries, in the words people ask for them."""

    def here(self) -> Self:
        return self.filter(machine=Machine.current())


class Binary(WorkItem):
    """One program on one machine: who may install it, and where, which version and which bytes it is."""

    state_machine_name = "archivebox.machine.statemachines.BinaryMachine"

    class StatusChoices(models.TextChoices):
        QUEUED = "queued", "queued"
        STARTED = "started", "started"
        SUCCEEDED = "succeeded", "succeeded"
        FAILED = "failed", "failed"

    SETTLED = (StatusChoices.SUCCEEDED, StatusChoices.FAILED)

    machine = models.ForeignKey(Machine, on_delete=models.CASCADE)
    name = models.CharField(max_length=128)
    binproviders = models.CharField(max_length=255, default="env", help_text="in the order they are asked")
    overrides = models.JSONField(default=dict, blank=True, help_text="merged into a provider's call, by provider")
    binprovider = models.CharField(max_length=32, blank=True, default="", help_text="who had it")
    abspath = models.CharField(max_length=512, blank=True, default="")
    version = models.CharField(max_length=64, blank=True, default="")
    sha256 = models.CharField(max_length=64, blank=True, default="")
    message = models.TextField(blank=True, default="", help_text="why it is missing, and how to get it")

    objects: ClassVar[models.Manager[Any]] = BinaryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "binaries"
        constraints = [models.UniqueConstraint(fields=["machine", "name"], name="binary_once_per_machine")]

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()

    @classmethod
    def next_due(cls, machine: UUID, since: datetime) -> "BinaryQuerySet":
        del since
        return cls.objects.free().filter(machine_id=machine)

    def end_with_reason(self, reason: str) -> None:
        """As if no provider had it."""
        if self.status in self.SETTLED:
            self.transition("requeue", owner=self.owner)
        if self.status == self.StatusChoices.QUEUED:
            self.transition("start")
        self.transition("fail", reason=reason, attempts=0)

    @classmethod
    def want(cls, request: BinaryRequest) -> "Binary":
        """The row of this program on this machine, queued when it is new or was asked for otherwise before."""
        machine = Machine.current()
        asked = {"binproviders": ",".join(request.binproviders), "overrides": dict(request.overrides)}
        key = new_id()
        fresh = {
            **asked,
            "id": key,
            "created_by": system_user(),
            "output_dir": DATA_FOLDER.relative(DATA_FOLDER.binary_dir(machine.pk, request.name, key)),
        }
        binary, created = cls.objects.get_or_create(machine=machine, name=request.name, defaults=fresh)
        if not created and any(getattr(binary, name) != value for name, value in asked.items()):
            cls.objects.filter(pk=binary.pk).update(**asked)
            binary.refresh_from_db()
            if binary.status == cls.StatusChoices.FAILED and binary.owner is None:
                binary.transition("requeue")  # those who were not asked before may have it
        return binary

    @property
    def path(self) -> Path:
        return DATA_FOLDER.root / self.output_dir

    @property
    def is_there(self) -> bool:
        """Whether what was found is still a file; no program is started for that."""
        return self.status == self.StatusChoices.SUCCEEDED and Path(self.abspath).is_file()

    @property
    def providers(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.binproviders.split(",") if name.strip())

    def run(self) -> None:
        """Have workers ask its providers, in their order, and wait until they have.

        ChildProcessError where none has it; see :meth:`Process.run_archivebox`.
        """
        Process.run_archivebox("install", self.name)
        self.refresh_from_db()

    def cleanup(self) -> None:
        """End install hooks that still run: the row is settled, nobody waits for them."""
        for process in Process.objects.here().running().of_type(Process.TypeChoices.HOOK).filter(binary_id=self.pk):
            process.terminate()

    @classmethod
    def from_jsonl(cls, record: Mapping[str, JSON], overrides: Mapping[str, Any] | None = None) -> "Binary | None":
        """A Binary record: a line of ``binaries.jsonl`` (a wish), or what an install hook found (``abspath``)."""
        name = record.get("name")
        if not isinstance(name, str) or not name:
            return None
        target: Binary | None = (overrides or {}).get("binary")
        if target is not None and target.name != name:
            return None  # a provider may patch only the Binary that it was asked for
        if target is None and "process" in (overrides or {}):
            return cls.want(parse_request(record))  # from any other hook it is a wish, whatever it claims to have found
        binary = target or cls.want(parse_request(record))
        found = {
            column: str(record[column])[: _LENGTHS[column]]
            for column in ("abspath", "version", "sha256", "binprovider")
            if isinstance(record.get(column), str)
        }
        if found.get("abspath"):
            cls.objects.filter(pk=binary.pk).update(**found)
            for column, value in found.items():
                setattr(binary, column, value)
        return binary


_LENGTHS = {"abspath": 512, "version": 64, "sha256": 64, "binprovider": 32}


def binary_paths(machine_id: UUID) -> dict[str, str]:
    """Name → abspath of every program that this machine has: one query per worker and crawl."""
    rows = Binary.objects.filter(machine_id=machine_id, status=Binary.StatusChoices.SUCCEEDED)
    return dict(rows.values_list("name", "abspath"))


register("Binary", Binary.from_jsonl)
