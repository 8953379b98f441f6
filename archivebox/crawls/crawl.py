"""Crawls: what somebody asked for, and its runs on each machine."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Self
from uuid import UUID

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q
from django.utils import timezone

from archivebox.base_models.literal import one_of
from archivebox.base_models.rows import Row, new_id
from archivebox.base_models.visibility import VisibleRow
from archivebox.base_models.work import FREE_AND_WANTED, HELD, StoppableItem, WorkItem, WorkQuerySet
from archivebox.config.resolve import Layer
from archivebox.config.settings import DATA_FOLDER
from archivebox.crawls.schedule import CrawlSchedule
from archivebox.hooks import crawl_layers
from archivebox.lib.jsonl import JSON
from archivebox.machine.host import Machine
from archivebox.machine.process import Process, ProcessQuerySet
from archivebox.storage.layout import machine_place
from archivebox.webhooks.models import Event
from archivebox.webhooks.outbox import enqueue_event

LONGEST_HOLD_OFF = 3600.0
"""Seconds for which a host may put us off at a time; it can do so again."""

URLS_KEPT, URLS_LONGEST = 1_000, 65_536
"""URLs and characters of them that its row keeps of what was given; its Snapshots are all of it."""


class CrawlQuerySet(WorkQuerySet["Crawl"]):
    """Crawls, in the words people ask for them."""

    def open(self) -> Self:
        return self.filter(status__in=one_of(*Crawl.OPEN))


class Crawl(StoppableItem, VisibleRow):
    """A set of seed URLs, how deep to follow them, and the settings that hold for all of it."""

    state_machine_name = "archivebox.crawls.statemachines.CrawlMachine"

    label = models.CharField(max_length=255, blank=True, default="")
    urls = models.TextField(blank=True, default="", help_text="what was asked for, one URL a line (the first 64 KB)")
    source = models.CharField(
        max_length=512, blank=True, default="", help_text="file in sources/ with all that was given"
    )
    max_depth = models.IntegerField(default=0)
    tags_str = models.CharField(max_length=1024, blank=True, default="")
    persona = models.CharField(max_length=64, blank=True, default="")
    config = models.JSONField(default=dict, blank=True)
    schedule = models.ForeignKey(CrawlSchedule, null=True, blank=True, on_delete=models.SET_NULL)
    replaces = models.BooleanField(default=False, help_text="a URL's older versions go once its new one is archived")

    objects: ClassVar[models.Manager[Any]] = CrawlQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["retry_at"], condition=FREE_AND_WANTED, name="crawl_due"),
            models.Index(fields=["id"], condition=Q(status__in=["queued", "started"]), name="crawl_open"),
        ]

    def __str__(self) -> str:
        if self.label or not self.more_urls:
            return self.label or self.first_url or str(self.pk)
        host = self.first_url.partition("://")[2].partition("/")[0]
        return f"{host or self.first_url} and {self.more_urls} more"

    @classmethod
    def plan(cls, *, created_by: User, urls: Sequence[str], **fields: Any) -> Self:
        """A Crawl that is not saved yet, with its folder decided."""
        key = new_id()
        folder = DATA_FOLDER.crawl_dir(created_by.username, timezone.now().date(), key)
        return cls(
            id=key,
            created_by=created_by,
            urls="\n".join(urls)[:URLS_LONGEST],
            output_dir=DATA_FOLDER.relative(folder),
            **fields,
        )

    @property
    def first_url(self) -> str:
        return self.urls.partition("\n")[0]

    @property
    def more_urls(self) -> str:
        """How many it was given besides: ``9``; ``999+`` where no more of them are kept; empty for none."""
        count = self.urls.count("\n")
        is_all = count + 1 < URLS_KEPT and len(self.urls) < URLS_LONGEST
        return f"{count:,}{'' if is_all else '+'}" if count else ""

    @property
    def path(self) -> Path:
        return DATA_FOLDER.root / self.output_dir

    @property
    def local_path(self) -> Path:
        """Where its hooks work on this machine."""
        run = self.crawlrun_set.filter(machine=Machine.current()).first()
        return run.path if run is not None else self.path

    @property
    def process_set(self) -> ProcessQuerySet:
        return Process.objects.all().filter(crawl_id=self.pk)

    def layers(self) -> list[Layer]:
        """The layers of settings that hold for this crawl, weakest first."""
        return crawl_layers(self.settings)

    @property
    def settings(self) -> dict[str, JSON]:
        """Its own settings, with the persona that it was given."""
        return {**self.config, **({"ACTIVE_PERSONA": self.persona} if self.persona else {})}

    def run(self) -> None:
        """Have workers archive all of it, and wait until they have; see :meth:`Process.run_archivebox`."""
        Process.run_archivebox("run", "--crawl", str(self.pk))
        self.refresh_from_db()

    def cleanup(self) -> None:
        """Ask every run of it, on whatever machine, to end; their holders end the trees."""
        self.crawlrun_set.exclude(status=CrawlRun.StatusChoices.SEALED).filter(HELD).update(request="cancel")

    def enqueue_finished_event(self) -> None:
        self._tell(Event.CRAWL_FINISHED)

    def enqueue_paused_event(self) -> None:
        self._tell(Event.CRAWL_PAUSED)

    def enqueue_cancelled_event(self) -> None:
        self._tell(Event.CRAWL_CANCELLED)

    def _tell(self, event: Event) -> None:
        """Tell webhooks, in the transaction of what has happened to it."""
        schedule = None if self.schedule_id is None else str(self.schedule_id)
        retry_at = None if self.retry_at is None else self.retry_at.isoformat()
        enqueue_event(
            event, self.pk, {"id": str(self.pk), "label": str(self), "schedule": schedule, "retry_at": retry_at}
        )

    def has_open_snapshots(self) -> bool:
        return bool(self.snapshot_set.unsealed().exists())

    def has_pending_children(self) -> bool:
        """Whether a Snapshot or a run of it is unsealed."""
        return self.has_open_snapshots() or self.crawlrun_set.unsealed().exists()

    def next_wanted(self) -> datetime | None:
        """When the first of its Snapshots wants attention again."""
        wanted = self.snapshot_set.free().order_by("retry_at")
        return wanted.values_list("retry_at", flat=True).first()

    def tick_at(self, moment: datetime | None) -> None:
        """Have this crawl ticked at a moment, or not again."""
        Crawl.objects.filter(pk=self.pk).update(retry_at=moment)

    def wake(self) -> None:
        """Have this crawl ticked as soon as possible."""
        self.tick_at(timezone.now())


class CrawlRunQuerySet(WorkQuerySet["CrawlRun"]):
    """Runs of crawls on machines."""

    def unsealed(self) -> Self:
        return self.filter(status__in=one_of(*CrawlRun.OPEN))


class CrawlRun(WorkItem):
    """A crawl on one machine: holds its browser there for as long as Snapshots need it."""

    state_machine_name = "archivebox.crawls.statemachines.CrawlRunMachine"

    class StatusChoices(models.TextChoices):
        QUEUED = "queued", "queued"
        STARTED = "started", "started"
        SEALED = "sealed", "sealed"

    OPEN = (StatusChoices.QUEUED, StatusChoices.STARTED)

    crawl = models.ForeignKey(Crawl, on_delete=models.CASCADE)
    machine = models.ForeignKey(Machine, on_delete=models.CASCADE)
    ready_at = models.DateTimeField(null=True, blank=True, help_text="when Snapshots may run; empty while it is not up")

    objects: ClassVar[models.Manager[Any]] = CrawlRunQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["crawl", "machine"], name="crawlrun_once_per_machine")]
        # Sealed ones are as many as there ever were crawls: no poll looks at them.
        indexes = [
            models.Index(fields=["machine", "retry_at"], condition=FREE_AND_WANTED, name="crawlrun_due"),
            models.Index(fields=["owner"], condition=HELD, name="crawlrun_held"),
            models.Index(fields=["machine"], condition=Q(status__in=["queued", "started"]), name="crawlrun_open"),
        ]

    def __str__(self) -> str:
        return f"{self.crawl} on {self.machine}"

    @classmethod
    def of(cls, crawl_id: UUID, machine_id: UUID) -> "CrawlRun":
        """The run of a crawl on a machine, made on first use: by one machine at a time.

        The first has the crawl's own folder, each other one a folder in it.
        """
        known = cls.objects.filter(crawl_id=crawl_id, machine_id=machine_id)
        run = known.first()
        if run is None:
            crawl = Crawl.objects.get(pk=crawl_id)
            folder = crawl.output_dir
            if cls.objects.filter(crawl_id=crawl_id).exists():
                folder = machine_place(folder, machine_id)
            fresh = cls(crawl=crawl, machine_id=machine_id, created_by_id=crawl.created_by_id, output_dir=folder)
            cls.objects.bulk_create([fresh], ignore_conflicts=True)  # another worker may be quicker
            run = known.get()
        return run

    @property
    def path(self) -> Path:
        return DATA_FOLDER.root / self.output_dir

    def cleanup(self) -> None:
        """Its seal makes its Crawl due."""
        self.crawl.wake()


class Domain(Row):
    """A host and how politely it wants to be asked."""

    name = models.CharField(max_length=255, unique=True)
    next_at = models.DateTimeField(null=True, blank=True, help_text="no request before this moment")
    delay = models.FloatField(default=0.0, help_text="seconds between two pages")
    max_parallel = models.IntegerField(default=0, help_text="pages at once; 0: no limit of its own")

    class Meta:
        indexes = [models.Index(fields=["next_at"], condition=Q(next_at__isnull=False), name="domain_blocked")]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def hold_off(cls, name: str, seconds: float) -> None:
        """Ask nothing of a host for so long, as it wished (RFC 9110, 10.2.3); a wait that ends later stays."""
        until = timezone.now() + timedelta(seconds=min(seconds, LONGEST_HOLD_OFF))
        domain, _ = cls.objects.get_or_create(name=name)
        cls.objects.filter(Q(next_at__isnull=True) | Q(next_at__lt=until), pk=domain.pk).update(next_at=until)
