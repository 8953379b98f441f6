"""Snapshots: one page at one time, and the journal of the hooks that kept it."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self
from uuid import UUID

from django.contrib.auth.models import User
from django.contrib.postgres.indexes import HashIndex
from django.db import models
from django.db.models import F, Func, Q, Subquery
from django.db.models.functions import Coalesce, Lower
from django.utils import timezone

from archivebox.base_models.bulk_write import insert_rows
from archivebox.base_models.literal import Literal, one_of
from archivebox.base_models.rows import new_id
from archivebox.base_models.visibility import Visibility, VisibleRow
from archivebox.base_models.work import FREE_AND_WANTED, HELD, StoppableItem, WorkQuerySet
from archivebox.config.resolve import Layer, Resolved
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.applies import PageFacts
from archivebox.contract.hook import Hook
from archivebox.contract.hooknames import LAST_STEP
from archivebox.contract.reasons import Reason
from archivebox.contract.records import register
from archivebox.contract.schema import prefix
from archivebox.contract.verdicts import Verdict, judge
from archivebox.core.tag import Tag, Tagging
from archivebox.crawls.crawl import Crawl, Domain
from archivebox.hooks import discover_hooks, outputs_of, resolve_settings
from archivebox.lib.jsonl import JSON
from archivebox.lib.links.dates import moment_of
from archivebox.lib.urls import MAX_LENGTH, Url, path_domain, path_domain_of
from archivebox.machine.process import Process, ProcessQuerySet
from archivebox.webhooks.models import Event
from archivebox.webhooks.outbox import enqueue_event, is_wanted

if TYPE_CHECKING:
    from archivebox.core.archiveresult import ArchiveResult, ArchiveResultQuerySet

MOST_TAGS = 100
"""Tags taken from one record."""
PATCHED_TEXTS = {"title": 512, "final_url": MAX_LENGTH, "mime_type": 255}
"""Columns of text that a hook of the page may set, and their most characters."""
PATCHED_NUMBERS = {"http_status": 999}
"""Columns of a number that a hook of the page may set, and the largest."""
_SEEN_BY = ("visibility", "created_by")
_KEPT, _REMOVED = Q(retired_at__isnull=True), Q(retired_at__isnull=False)
_OPEN_OR_PAUSED = ("queued", "started", "paused")
UNSEALED = Q(status__in=one_of(*_OPEN_OR_PAUSED))
"""Snapshots that keep their crawl from its seal, for a query."""
_PUBLIC, _CANCELLED = Q(visibility=Visibility.PUBLIC), Q(status="cancelled")
_UNSEALED = Q(status__in=list(_OPEN_OR_PAUSED))
"""The same for an index, whose condition is written by Django."""
_SEED = Q(depth=0)
_MEASURED = Q(quality__isnull=False)
_TO_MEASURE = Q(measured_at__isnull=True, retired_at__isnull=True, status="sealed")
_LOSSY = Q(is_lossy=True)
LEAST_NOT_OK = 300
"""The smallest HTTP status that is no success (RFC 9110, 15)."""
_NOT_OK = Q(http_status__gte=LEAST_NOT_OK)
_IN_LIBRARY = Q(retired_at__isnull=True) & (~Q(status="cancelled") | Q(fence__gt=0))


SHOWN_TITLE = Lower(
    Coalesce(
        Func("title", template="NULLIF(%(expressions)s, '')"),
        Func("url", template="SUBSTR(REPLACE(REPLACE(%(expressions)s, 'https://', ''), 'http://', ''), 1, 512)"),
        output_field=models.TextField(),
    )
)
"""What lists call a page, for their order: its title, else its URL, as much of it as a title has."""


class UrlKey(Func):
    """A URL in a unique index: an entry has 2,704 bytes at most in PostgreSQL."""

    template = "%(expressions)s"

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="MD5(%(expressions)s)", **context)


class SnapshotQuerySet(WorkQuerySet["Snapshot"]):
    """Snapshots, in the words people ask for them."""

    def kept(self) -> Self:
        """Those that nobody removed or replaced."""
        return self.filter(retired_at__isnull=True)

    def unsealed(self) -> Self:
        """Those that keep their crawl from its seal."""
        return self.filter(UNSEALED)

    def in_status(self, status: str) -> Self:
        """Those in one status, which shows the condition of the index that it has."""
        rows = self.unsealed() if status in _OPEN_OR_PAUSED else self
        return rows.filter(status=Literal(status))

    def unfetched(self) -> Self:
        """Those of which nobody has begun anything, and nobody will: their crawl was stopped, or let go of them."""
        return self.filter(status=Literal("cancelled"), fence=Literal(0))

    def without_unfetched(self) -> Self:
        """All others."""
        return self.filter(~Q(status=Literal("cancelled")) | Q(fence__gt=Literal(0)))

    def in_library(self) -> Self:
        """Those that people look at where they do not ask for others."""
        return self.kept().without_unfetched()

    def measured(self) -> Self:
        """Those of which it is known how much their replay has."""
        return self.filter(quality__isnull=False)

    def unmeasured(self) -> Self:
        """Those whose replay nobody has measured since they were sealed; which shows the condition of their index."""
        return self.kept().filter(status=Literal("sealed"), measured_at__isnull=True)

    def lossy(self) -> Self:
        """Those that are worth capturing again."""
        return self.filter(is_lossy=True)

    def of_crawl(self, key: UUID) -> Self:
        """Those of one crawl, for a list.

        PostgreSQL is not told which (a subquery): of a crawl that it knows to be large it would look for the newest
        among the newest of all.
        """
        return self.filter(crawl=Subquery(Crawl.objects.filter(pk=key).values("pk")))

    def named_at(self, url: Url) -> Self:
        """What was given by who may name private places at the host and port of ``url``, by either scheme.

        ``domain`` alone would not do: that of http://10.0.0.5:8000 is the host of http://10.0.0.5_8000 as well.
        """
        http, https = (Q(url__startswith=f"{scheme}://{url.domain_key}/") for scheme in ("http", "https"))
        return self.filter(http | https, may_be_private=True, domain=path_domain(url))

    def of_url(self, url: str) -> Self:
        return self.filter(url=url).order_by("-id")


class Snapshot(StoppableItem, VisibleRow):
    """One page at one time: one ArchiveResult per hook, run step by step by the worker that holds it."""

    state_machine_name = "archivebox.core.statemachines.SnapshotMachine"

    crawl = models.ForeignKey(Crawl, on_delete=models.CASCADE, db_index=False)  # its constraint begins with it
    parent_snapshot = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="outlinks"
    )
    url = models.TextField(max_length=MAX_LENGTH)
    domain = models.CharField(
        max_length=255, help_text="host and port as in the path, e.g. example.com or 127.0.0.1_8000"
    )
    depth = models.IntegerField(default=0)
    may_be_private = models.BooleanField(
        default=False, help_text="given by who may name private places: written by the intake alone"
    )
    title = models.CharField(max_length=512, blank=True, default="")
    final_url = models.TextField(
        blank=True, default="", help_text="where redirects led to; empty until a hook has told"
    )
    http_status = models.PositiveSmallIntegerField(default=0, help_text="of the last answer (RFC 9110, 15); 0: none")
    mime_type = models.CharField(max_length=255, blank=True, default="", help_text="without parameters, lower case")
    quality = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="percent of the page that its replay shows without scripts; null: not measured"
    )
    quality_with_scripts = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="percent of the page that its replay shows with scripts; null: not measured"
    )
    measures = models.JSONField(null=True, blank=True, help_text="what the quality was made from, for people")
    measured_at = models.DateTimeField(
        null=True, blank=True, help_text="when its replay was measured as it was sealed last; null: not yet"
    )
    is_lossy = models.BooleanField(
        null=True, blank=True, help_text="true: worth capturing again; null: not known to be"
    )
    size = models.BigIntegerField(default=0, help_text="bytes that its results have kept, as of its last seal")
    tags = models.ManyToManyField(Tag, blank=True, through=Tagging, related_name="snapshot_set")
    config = models.JSONField(default=dict, blank=True)
    current_step = models.IntegerField(default=0)
    finishing = models.BooleanField(default=False, help_text="past step 9: only finite background hooks still run")
    sealed_at = models.DateTimeField(null=True, blank=True)
    bookmarked_at = models.DateTimeField(
        null=True, blank=True, help_text="kept, published or changed then, as the list says that named it"
    )
    retired_at = models.DateTimeField(null=True, blank=True, help_text="removed or replaced; undone until retention")

    objects: ClassVar[models.Manager[Any]] = SnapshotQuerySet.as_manager()
    archiveresult_set: "ArchiveResultQuerySet"

    class Meta:
        constraints = [models.UniqueConstraint(F("crawl"), UrlKey("url"), name="snapshot_url_once_per_crawl")]
        indexes = [
            # The queue: the crawl's hosts by skip scan, then the longest waiting page of each.
            models.Index(fields=["crawl", "domain", "retry_at"], condition=FREE_AND_WANTED, name="snapshot_due"),
            models.Index(fields=["crawl", "retry_at", "id"], condition=FREE_AND_WANTED, name="snapshot_wanted"),
            models.Index(fields=["owner", "domain"], condition=HELD, name="snapshot_held"),
            models.Index(fields=["crawl"], condition=_UNSEALED, name="snapshot_open"),
            HashIndex(fields=["url"], name="snapshot_url"),  # of no size in PostgreSQL; SQLite makes a plain one of it
            # What lists are filtered by and sorted, the newest first. Who sees a page comes last: thousands that are
            # hidden are passed over without a look at their rows.
            models.Index(fields=["domain", "id", *_SEEN_BY], condition=_KEPT, name="snapshot_of_host"),
            models.Index(fields=["mime_type", "id", *_SEEN_BY], condition=_KEPT, name="snapshot_of_type"),
            models.Index(fields=["quality", "id", *_SEEN_BY], condition=_MEASURED, name="snapshot_of_quality"),
            models.Index(fields=["id", *_SEEN_BY], condition=_LOSSY, name="snapshot_lossy"),
            models.Index(fields=["id"], condition=_TO_MEASURE, name="snapshot_to_measure"),
            models.Index(fields=["id", *_SEEN_BY, "depth"], condition=_IN_LIBRARY, name="snapshot_in_library"),
            models.Index(fields=["http_status", "id", *_SEEN_BY], condition=_NOT_OK, name="snapshot_not_ok"),
            models.Index(fields=["size", "id", *_SEEN_BY], condition=_KEPT, name="snapshot_of_size"),
            models.Index(SHOWN_TITLE, F("id"), *map(F, _SEEN_BY), condition=_KEPT, name="snapshot_of_title"),
            # Those of which there are few. They begin with the key, so that SQLite, which prefers equality to order,
            # does not read all that a passer-by sees for one host; and being narrow they go before snapshot_in_library.
            models.Index(fields=["id", "status", "fence"], condition=_KEPT & _PUBLIC, name="snapshot_public"),
            models.Index(fields=["id", *_SEEN_BY], condition=Q(visibility=Visibility.PRIVATE), name="snapshot_private"),
            models.Index(fields=["id", "status", *_SEEN_BY], condition=_KEPT & _UNSEALED, name="snapshot_unsealed"),
            models.Index(
                fields=["id", "status", "fence", *_SEEN_BY], condition=_KEPT & _CANCELLED, name="snapshot_cancelled"
            ),
            models.Index(fields=["id", *_SEEN_BY], condition=_IN_LIBRARY & _SEED, name="snapshot_seed"),
            models.Index(fields=["id"], condition=_REMOVED, name="snapshot_removed"),
            models.Index(fields=["retired_at"], condition=_REMOVED, name="snapshot_retired"),
            # The page of a crawl: its newest, those in one state (begun or not), how many were done of late.
            models.Index(fields=["crawl", "id", *_SEEN_BY], condition=_KEPT, name="snapshot_of_crawl"),
            models.Index(fields=["crawl", "status", "id", "fence", *_SEEN_BY], condition=_KEPT, name="snapshot_state"),
            models.Index(fields=["crawl", "sealed_at"], condition=Q(sealed_at__isnull=False), name="snapshot_done"),
        ]

    def __str__(self) -> str:
        return self.url

    # --- making one -------------------------------------------------------------------------------------------

    @classmethod
    def plan(cls, *, crawl: Crawl, url: str, username: str, now: datetime, **fields: Any) -> Self:
        """A Snapshot that is not saved yet, with its folder decided. ``url`` has been admitted."""
        key, columns = cls.plan_row(crawl=crawl, url=url, username=username, now=now)
        return cls(id=key, **(columns | fields))

    @classmethod
    def plan_row(
        cls, *, crawl: Crawl, url: str, username: str, now: datetime, **columns: Any
    ) -> tuple[UUID, dict[str, Any]]:
        """The same as key and columns, for :meth:`Table.insert`: a list of a million URLs needs no object for each."""
        key = new_id()
        domain = path_domain_of(url)
        return key, {
            "crawl_id": crawl.pk,
            "url": url,
            "domain": domain,
            "created_by_id": crawl.created_by_id,
            "visibility": crawl.visibility,
            "output_dir": DATA_FOLDER.snapshot_place(username, now.date(), domain, key),
            "retry_at": now,
            **columns,
        }

    @classmethod
    def from_jsonl(cls, record: Mapping[str, JSON], overrides: Mapping[str, Any] | None = None) -> "Snapshot | None":
        """A Snapshot record: with ``id`` a patch of an allow-listed set of fields, else a URL found, queued at once.

        It does not filter; whoever calls it has asked :mod:`archivebox.crawls.admission`.
        """
        given = overrides or {}
        parent: Snapshot | None = given.get("snapshot")
        if record.get("id"):
            return parent.patch(record) if parent is not None and str(parent.pk) == record["id"] else None
        crawl: Crawl = given.get("crawl") or parent.crawl  # type: ignore[union-attr]  # one of both is always given
        owner_id = given.get("created_by_id") or crawl.created_by_id
        owner = crawl.created_by if owner_id == crawl.created_by_id else User.objects.get(pk=owner_id)
        depth = record.get("depth")
        depth = depth if isinstance(depth, int) and not isinstance(depth, bool) else None
        fresh = cls.plan(
            crawl=crawl,
            url=str(record.get("url")),
            username=owner.username,
            now=timezone.now(),
            parent_snapshot=parent,
            depth=depth if depth is not None else parent.depth + 1 if parent else 0,
            title=str(record.get("title") or "")[:512],
            bookmarked_at=bookmarked_at_of(record),
            config=dict(parent.config) if parent else {},
            created_by_id=owner.pk,
        )
        # Two workers of a crawl may find one URL in one moment; who comes second takes the row that is there.
        cls.objects.bulk_create([fresh], ignore_conflicts=True)
        snapshot = cls.objects.get(crawl=crawl, url=fresh.url)
        snapshot.tags.add(*tags_of(record))
        return snapshot

    def patch(self, record: Mapping[str, JSON]) -> Self:
        """Take over the fields of a record that a hook of this Snapshot may set."""
        fields = self.learn(record)
        if fields:
            Snapshot.objects.filter(pk=self.pk).update(**fields, modified_at=timezone.now())
        self.tags.add(*tags_of(record))
        seconds = record.get("retry_after")
        if isinstance(seconds, int) and seconds > 0:
            Domain.hold_off(self.domain, seconds)
        return self

    def learn(self, record: Mapping[str, JSON]) -> dict[str, str | int]:
        """Take over the columns of a patch without writing them; returns them."""
        fields = patched_columns(record)
        for name, value in fields.items():
            setattr(self, name, value)
        return fields

    # --- what it knows ----------------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        return DATA_FOLDER.root / self.output_dir

    @property
    def process_set(self) -> ProcessQuerySet:
        return Process.objects.all().filter(snapshot_id=self.pk)

    @property
    def facts(self) -> PageFacts:
        """What its URL turned out to be, as far as a hook has told."""
        return PageFacts(self.final_url, self.http_status, self.mime_type)

    def reason_against(self, hook: Hook, settings: Resolved, facts: PageFacts | None = None) -> str | None:
        """Why a hook is not for this page; None: it is. Others are told of private pages only where that was asked.

        ``facts``: what is known of it, where that is more or less than the row says.
        """
        if self.visibility == Visibility.PRIVATE and any(map(settings.is_set, hook.tells)) and not self._asks_for(hook):
            return Reason.PRIVATE_PAGE.value
        if reason := hook.applies.reason_against(self.url, facts or self.facts):
            return reason
        return (
            None if hook.applies.is_for_content_of(self.path) else Reason.NOT_APPLICABLE.of("what this page contains")
        )

    def _asks_for(self, hook: Hook) -> bool:
        """Whether its plugin was asked for by name for this page or its crawl, and not for all."""
        own = {**self.crawl.config, **self.config}
        named = own.get("PLUGINS")
        return (isinstance(named, list) and hook.plugin in named) or f"{prefix(hook.plugin)}_ENABLED" in own

    def layers(self) -> list[Layer]:
        """The layers of settings that hold for this page, weakest first; an outlink inherited its parent's."""
        return [*self.crawl.layers(), Layer("snapshot", dict(self.config))]

    def settings(self) -> Resolved:
        return resolve_settings(self.layers())

    def has_running_background_hooks(self) -> bool:
        return bool(self.process_set.running().filter(hook_name__contains=".bg.").exists())

    def has_pending_children(self) -> bool:
        """Whether a result of it is neither final nor waiting for its retry."""
        return self.archiveresult_set.unfinished().exists()

    # --- its life ---------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Have workers archive it, and wait until they have; see :meth:`Process.run_archivebox`."""
        Process.run_archivebox("run", "--snapshot", str(self.pk))
        self.refresh_from_db()

    def create_pending_archiveresults(self) -> list["ArchiveResult"]:
        """:meth:`queue_hooks`; returns the new ArchiveResults."""
        return list(self.archiveresult_set.filter(pk__in=self.queue_hooks()).order_by("pk"))

    def queue_hooks(self) -> list[UUID]:
        """One ArchiveResult for each chosen hook that has none yet: queued, or skipped if its plugin is switched off.

        Returns the keys of the new ones. Without an object for each: bulk_create takes eight times as long.
        """
        model, settings, path = self.archiveresult_set.model, self.settings(), str(self.path)
        known = set(self.archiveresult_set.values_list("plugin", "hook_name"))
        hooks = [hook for hook in chosen_hooks(settings) if (hook.plugin, hook.file_name) not in known]
        queued = {"snapshot_id": self.pk, "status": "queued", "reason": "", "retry_at": timezone.now()}
        rows: list[tuple[UUID, dict[str, object]]] = []
        for hook in hooks:
            columns = queued | {"plugin": hook.plugin, "hook_name": hook.file_name, "pwd": f"{path}/{hook.plugin}"}
            refused = settings.reason_to_skip(hook) or self.reason_against(hook, settings)
            if refused is not None:
                columns |= {"status": "skipped", "reason": refused[:128], "retry_at": None}
            rows.append((new_id(), columns))
        insert_rows(model, rows)
        return [key for key, _ in rows]

    def advance_step_if_ready(self) -> bool:
        """Go to the next step when every foreground result of this one is final or in back-off."""
        if self.current_step >= LAST_STEP:
            return False
        if self.archiveresult_set.foreground().in_step(self.current_step).unfinished().exists():
            return False
        return self.update_and_requeue(current_step=self.current_step + 1)

    def cleanup(self) -> None:
        """What the end of its life does: trees that are left are ended, results still open are finalised."""
        for process in self.process_set.running().of_type(Process.TypeChoices.HOOK):
            process.terminate()
        for result in self.archiveresult_set.started():
            result.update_from_output()

    def enqueue_sealed_event(self) -> None:
        """Tell webhooks, in the transaction of the seal, that it was archived, or that nothing of it could be kept."""
        if not is_wanted(Event.SNAPSHOT_SEALED, Event.SNAPSHOT_FAILED):
            return
        page = Snapshot.objects.get(pk=self.pk)  # hooks have told of it since a worker read it
        verdict = page.verdict()
        if verdict.is_archived:
            enqueue_event(Event.SNAPSHOT_SEALED, page.pk, page.webhook_data(verdict))
        elif page.retry_at is None:
            enqueue_event(Event.SNAPSHOT_FAILED, page.pk, page.webhook_data(verdict))

    def verdict(self) -> Verdict:
        """What its results come to."""
        return judge(self.status, self.http_status, self.archiveresult_set.all(), outputs_of)

    def webhook_data(self, verdict: Verdict) -> dict[str, JSON]:
        """What a message says of it."""
        return {
            "id": str(self.pk),
            "url": self.url,
            "title": self.title,
            "crawl": str(self.crawl_id),
            "state": verdict.state.value,
            "sentence": verdict.sentence,
            "kept": verdict.kept,
            "failed": verdict.failed,
            "retry_at": None if self.retry_at is None else self.retry_at.isoformat(),
        }

    def on_cancelled(self) -> None:
        """What being cancelled does: what is not final never runs, and its crawl checks whether it was the last."""
        self.archiveresult_set.cancel()
        self.cleanup()
        self.crawl.wake()


def chosen_hooks(settings: Resolved) -> list[Hook]:
    """The hooks that a page with these settings has a result of: those of the plugins that were asked for."""
    return [hook for hook in discover_hooks("Snapshot") if settings.is_chosen(hook.plugin)]


def patched_columns(record: Mapping[str, JSON]) -> dict[str, str | int]:
    """The columns that a patch sets; what is of another type than its column is left out."""
    columns: dict[str, str | int] = {}
    for name, longest in PATCHED_TEXTS.items():
        value = record.get(name)
        if isinstance(value, str):
            columns[name] = " ".join(value.split())[:longest]
    for name, largest in PATCHED_NUMBERS.items():
        number = record.get(name)
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= largest:
            columns[name] = number
    return columns


def tags_of(record: Mapping[str, JSON]) -> list[Tag]:
    """The tags that a record names: a list of names, or one string with commas."""
    given = record.get("tags")
    names = given.split(",") if isinstance(given, str) else given if isinstance(given, list) else []
    return [tag for name in names[:MOST_TAGS] if (tag := Tag.named(str(name))) is not None]


def bookmarked_at_of(record: Mapping[str, JSON]) -> datetime | None:
    """The date of a record, in any of the usual ways; None where it has none."""
    return moment_of(str(record.get("bookmarked_at") or ""))


register("Snapshot", Snapshot.from_jsonl)
