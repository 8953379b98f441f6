"""Owns schedules: written down, paused, and made into crawls when their time has come."""

import logging
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.wakeups import notify_workers
from archivebox.config.resolve import SettingError
from archivebox.core.intake.parse_input import ParsedInput
from archivebox.core.intake.request import CrawlRequest, Requester, Seed
from archivebox.core.intake.submit import accept
from archivebox.crawls.crawl import Crawl
from archivebox.crawls.schedule import MISSED_AFTER, CrawlSchedule, DueAction, Template
from archivebox.lib.jsonl import JSON
from archivebox.webhooks.models import Event
from archivebox.webhooks.outbox import enqueue_event

log = logging.getLogger(__name__)

UNENDED = (*Crawl.OPEN, Crawl.StatusChoices.PAUSED)
"""One that is paused goes on some day: the next would run beside it."""
AT_A_TIME = 16
"""Schedules that one visit looks at: others wait to write meanwhile."""


class StillRunningError(Exception):
    """Its last crawl has not ended."""

    def __init__(self, crawl: Crawl) -> None:
        super().__init__("Its last crawl has not ended. Wait until it ends, or cancel it, and try again.")
        self.crawl = crawl


class OwnerDisabledError(ValueError):
    """Nothing is archived in the name of an account that is let in no more."""

    def __init__(self, owner: User) -> None:
        super().__init__(f"The account {owner} is disabled. Enable it, or create your own schedule.")


def put(schedule: CrawlSchedule) -> None:
    """Write it down, new or changed. ValueError with a sentence where its time or its zone is none.

    A new time counts from now on; one that is paused stays so.
    """
    now = timezone.now()
    first = schedule.recurrence.next_after(now, now)
    with write_transaction():
        known = _find_locked(schedule.pk)
        if known is None:
            schedule.next_at = first
            schedule.save(force_insert=True)
        else:
            schedule.next_at, schedule.is_waiting = known.next_at, known.is_waiting
            if not known.is_paused and known.timing != schedule.timing:
                schedule.next_at, schedule.is_waiting = first, False
            schedule.save(update_fields=[*CrawlSchedule.EDITED, "next_at", "is_waiting", "modified_at"])
        notify_workers()


def pause(schedule: CrawlSchedule) -> bool:
    """Make no more crawls of it; what runs goes on. False where it is paused already."""
    running = CrawlSchedule.objects.filter(pk=schedule.pk, next_at__isnull=False)
    done = running.update(next_at=None, is_waiting=False, modified_at=timezone.now())
    schedule.refresh_from_db()
    return bool(done)


def pause_all_of(owner: User) -> None:
    """Make no more crawls in the name of an account that is disabled; what runs goes on."""
    running = CrawlSchedule.objects.filter(created_by=owner, next_at__isnull=False)
    running.update(**_left_out(CrawlSchedule.Why.DISABLED), next_at=None, modified_at=timezone.now())


def resume(schedule: CrawlSchedule) -> bool:
    """Go on with the next of its times. False where it is not paused.

    ValueError where that cannot be understood; OwnerDisabledError.
    """
    _ask_for_owner(schedule)
    now = timezone.now()
    first = schedule.recurrence.next_after(now, now)
    with write_transaction():
        paused = CrawlSchedule.objects.filter(pk=schedule.pk, next_at__isnull=True)
        done = paused.update(next_at=first, modified_at=now)
        notify_workers()
    schedule.refresh_from_db()
    return bool(done)


def remove(schedule: CrawlSchedule) -> None:
    """Forget it; what its crawls archived stays, also of one that is being made in this moment."""
    with write_transaction():
        _find_locked(schedule.pk)
        schedule.delete()


def run_now(schedule: CrawlSchedule) -> Crawl:
    """Its next crawl, now; its times stay as they are.

    StillRunningError while the last has not ended; OwnerDisabledError.
    """
    _ask_for_owner(schedule)
    with write_transaction():
        locked = _find_locked(schedule.pk) or schedule
        if running := unended(locked):
            raise StillRunningError(running)
        return _crawl(locked)


def _ask_for_owner(schedule: CrawlSchedule) -> None:
    if not schedule.created_by.is_active:
        raise OwnerDisabledError(schedule.created_by)


def unended(schedule: CrawlSchedule) -> Crawl | None:
    """Its crawl that has not ended."""
    running: Crawl | None = Crawl.objects.filter(schedule=schedule, status__in=UNENDED).first()
    return running


def start_due() -> None:
    """Let each schedule whose time has come have its turn, once, whoever else does so in the same moment.

    Its crawl, its next time, and that this one is over are one transaction: one that is cut off leaves it due.
    """
    now = timezone.now()
    for key in list(_due(now)):
        with write_transaction():
            for schedule in CrawlSchedule.objects.filter(pk=key, next_at__lte=now).select_for_update():
                _have_turn(schedule, now)


def end_impossible_schedules() -> int:
    """Have those wait for their next time that wait for a later one: a clock that has been set back since wrote it.

    One that went back by less than :data:`MISSED_AFTER` makes no time come twice.
    """
    now, count = timezone.now(), 0
    for schedule in CrawlSchedule.objects.filter(next_at__gt=now + MISSED_AFTER):
        written = schedule.next_at or now
        try:
            if written > schedule.recurrence.next_after(now + MISSED_AFTER, written):
                first = schedule.recurrence.next_after(now, written)
                rows = CrawlSchedule.objects.filter(pk=schedule.pk, next_at=written)
                count += rows.update(next_at=first, modified_at=now)
        except ValueError as error:
            log.debug("The schedule %s cannot be understood: %s", schedule.pk, error)  # it is paused at its time
    return count


def _have_turn(schedule: CrawlSchedule, now: datetime) -> None:
    if not schedule.created_by.is_active:
        _skip(schedule, CrawlSchedule.Why.DISABLED, next_at=None)
        return
    turn = schedule.due_action(now, is_busy=unended(schedule) is not None)
    if turn is DueAction.WAIT:
        _write(schedule, is_waiting=True)
        return
    try:
        next_at = schedule.recurrence.next_after(now, schedule.next_at or now)
    except ValueError as error:  # a zone that is gone, a rule that another version wrote
        log.warning("The schedule %s is paused: %s action=schedule_broken", schedule.pk, error)
        _skip(schedule, CrawlSchedule.Why.BROKEN, next_at=None)
        return
    if turn is DueAction.SKIP:
        missed = schedule.was_missed(now)
        _skip(schedule, CrawlSchedule.Why.MISSED if missed else CrawlSchedule.Why.OVERLAP, next_at=next_at)
        return
    try:
        _crawl(schedule)
    except SettingError as error:  # ArchiveBox.conf may be edited at any time
        log.warning("The schedule %s is skipped: %s action=schedule_skipped", schedule.pk, error)
        _skip(schedule, CrawlSchedule.Why.MISCONFIGURED, next_at=next_at)
        return
    _write(schedule, next_at=next_at, is_waiting=False)


def _skip(schedule: CrawlSchedule, why: CrawlSchedule.Why, *, next_at: datetime | None) -> None:
    _write(schedule, **_left_out(why), next_at=next_at)


def _left_out(why: CrawlSchedule.Why) -> dict[str, object]:
    """What a row says of the time that does not come to a crawl."""
    return {"skipped_at": models.F("next_at"), "skipped_for": why, "is_waiting": False}


def _crawl(schedule: CrawlSchedule) -> Crawl:
    made: Template = schedule.template
    request = CrawlRequest.of_template(made, label=schedule.label, visibility=schedule.visibility)
    parsed = ParsedInput.of_seeds(Seed(url) for url in made["urls"])
    crawl = accept(request, Requester.in_name_of(schedule.created_by), parsed, schedule=schedule).made
    data: dict[str, JSON] = {"id": str(schedule.pk), "label": str(schedule), "crawl": str(crawl.pk)}
    enqueue_event(Event.SCHEDULE_STARTED, schedule.pk, data)
    return crawl


def _write(schedule: CrawlSchedule, **columns: object) -> None:
    """Columns of a row that is locked."""
    CrawlSchedule.objects.filter(pk=schedule.pk).update(**columns, modified_at=timezone.now())


def _find_locked(key: UUID) -> CrawlSchedule | None:
    return CrawlSchedule.objects.filter(pk=key).select_for_update().first()


def _due(now: datetime) -> models.QuerySet[CrawlSchedule, UUID]:
    """Those that wait for their last crawl are not, until it has ended: its end wakes the workers."""
    running = Crawl.objects.filter(schedule=models.OuterRef("pk"), status__in=UNENDED)
    due = CrawlSchedule.objects.filter(next_at__lte=now).exclude(models.Q(models.Exists(running), is_waiting=True))
    return due.order_by("next_at").values_list("pk", flat=True)[:AT_A_TIME]
