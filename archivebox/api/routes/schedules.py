"""Schedules: crawls that come again by themselves."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field, StringConstraints

from archivebox.accounts.permission import Who, may, visible_schedules
from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, caller, caller_account, record_audit
from archivebox.api.paging import Page, Window, page_of
from archivebox.api.problems import ProblemError
from archivebox.api.routes.crawls import detail_of, requester
from archivebox.api.shapes.archive import CrawlDetail, CrawlPlan, Label, RequestBody
from archivebox.base_models.transactions import write_transaction
from archivebox.core.intake import schedules
from archivebox.core.intake.add_urls import default_visibility
from archivebox.core.intake.parse_input import parse_strictly
from archivebox.crawls.schedule import CrawlSchedule, Template
from archivebox.hooks import resolve_settings

Short = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[^\x00]*$")]
When = Annotated[
    Short,
    Field(
        description="hourly, daily, weekly, monthly, yearly, a length such as 6h, or a cron expression of five fields"
    ),
]
Zone = Annotated[Short, Field(description="By whose clocks, such as Europe/Berlin")]
Overlap = Annotated[Literal["wait", "skip"], Field(description="What happens at a time while its last crawl runs")]
CatchUp = Annotated[Literal["once", "skip"], Field(description="What becomes of times at which nothing was running")]
Recapture = Annotated[bool, Field(description="Archive links again that one of its crawls has archived")]


class ScheduleOut(Schema):
    """A crawl that comes again by itself."""

    id: UUID
    label: str
    schedule: When
    timezone: Zone
    next_at: Annotated[datetime | None, Field(description="null: it is paused")]
    is_waiting: Annotated[bool, Field(description="It is due, and its last crawl still runs")]
    overlap: str
    catch_up: str
    recapture: Recapture
    visibility: Annotated[str, Field(description="For whom it and its crawls are there")]
    urls: list[str]
    depth: int
    tags: list[str]
    persona: str
    config: Annotated[dict[str, Any], Field(description="Settings of its crawls; only with the right to inspect")]
    skipped_at: Annotated[datetime | None, Field(description="The last time that was left out")]
    skipped_for: Annotated[str, Field(description="Why it was")]
    created_by: str
    created_at: datetime
    modified_at: datetime

    @classmethod
    def all_of(cls, rows: Sequence[CrawlSchedule], who: Who) -> "list[ScheduleOut]":
        inspect = may(who, Action.INSPECT)
        return [cls._of(row, row.template, inspect=inspect) for row in rows]

    @classmethod
    def _of(cls, row: CrawlSchedule, made: Template, *, inspect: bool) -> "ScheduleOut":
        return cls(
            id=row.pk,
            label=row.label,
            schedule=row.schedule,
            timezone=row.timezone,
            next_at=row.next_at,
            is_waiting=row.is_waiting,
            overlap=row.overlap,
            catch_up=row.catch_up,
            recapture=row.recapture,
            visibility=row.visibility,
            urls=made["urls"],
            depth=made["max_depth"],
            tags=made["tags"],
            persona=made["persona"],
            config=resolve_settings([]).redacted(made["config"]) if inspect else {},
            skipped_at=row.skipped_at,
            skipped_for=row.skipped_for,
            created_by=row.created_by.username,
            created_at=row.created_at,
            modified_at=row.modified_at,
        )


class ScheduleIn(CrawlPlan):
    """What to archive again and again, and when."""

    schedule: When
    timezone: Zone = "UTC"
    overlap: Overlap = "wait"
    catch_up: CatchUp = "once"
    recapture: Recapture = False


class SchedulePatch(RequestBody):
    """What may be changed of a schedule; what is left out stays."""

    label: Label | None = None
    schedule: When | None = None
    timezone: Zone | None = None
    overlap: Overlap | None = None
    catch_up: CatchUp | None = None
    recapture: Recapture | None = None


router = Router(tags=["schedules"])
STEERED = {"pause": schedules.pause, "resume": schedules.resume}


@router.get("", response=Page[ScheduleOut], auth=Bearer(Action.READ))
def list_schedules(request: HttpRequest, window: Query[Window]) -> Page[ScheduleOut]:
    """Schedules, the newest first."""
    who = caller(request)
    rows = visible_schedules(who)
    return page_of(rows, window, lambda found: ScheduleOut.all_of(found, who))


@router.post("", response={201: ScheduleOut}, auth=Bearer(Action.EDIT))
def create_schedule(request: HttpRequest, wanted: ScheduleIn) -> Status[ScheduleOut]:
    """Have URLs archived again and again."""
    asked = wanted.request()
    template = asked.template(seed.url for seed in parse_strictly(asked, requester(request)))
    own = wanted.dict(include={"label", "schedule", "timezone", "overlap", "catch_up", "recapture"})
    visibility = asked.visibility or default_visibility(asked.settings)
    schedule = CrawlSchedule(visibility=visibility, template=template, created_by=caller_account(request), **own)
    _put(request, "schedule.created", schedule)
    return Status(201, _out(request, schedule.pk))


def _put(request: HttpRequest, action: str, schedule: CrawlSchedule) -> None:
    try:
        with write_transaction():
            schedules.put(schedule)
            record_audit(request, action, schedule, schedule=schedule.schedule, timezone=schedule.timezone)
    except ValueError as error:
        raise ProblemError(422, str(error)) from None


@router.get("/{uuid:schedule_id}", response=ScheduleOut, auth=Bearer(Action.READ))
def get_schedule(request: HttpRequest, schedule_id: UUID) -> ScheduleOut:
    """One schedule; its crawls are those of `/api/v1/crawls?schedule=` with its id."""
    return _out(request, schedule_id)


@router.patch("/{uuid:schedule_id}", response=ScheduleOut, auth=Bearer(Action.EDIT))
def change_schedule(request: HttpRequest, schedule_id: UUID, wanted: SchedulePatch) -> ScheduleOut:
    """Give it another time, label or rule. A new time counts from now on."""
    schedule = _find(schedule_id, caller(request))
    for name, value in wanted.dict(exclude_none=True).items():
        setattr(schedule, name, value)
    _put(request, "schedule.changed", schedule)
    return _out(request, schedule_id)


@router.delete("/{uuid:schedule_id}", response={204: None}, auth=Bearer(Action.EDIT))
def remove_schedule(request: HttpRequest, schedule_id: UUID) -> Status[None]:
    """Forget it; what its crawls archived stays."""
    schedule = _find(schedule_id, caller(request))
    with write_transaction():
        record_audit(request, "schedule.remove", schedule, label=str(schedule))
        schedules.remove(schedule)
    return Status(204, None)


@router.post("/{uuid:schedule_id}/run", response={201: CrawlDetail}, auth=Bearer(Action.EDIT))
def run_schedule(request: HttpRequest, schedule_id: UUID) -> Status[CrawlDetail]:
    """Make its next crawl now; its times stay as they are."""
    schedule = _find(schedule_id, caller(request))
    try:
        with write_transaction():
            crawl = schedules.run_now(schedule)
            record_audit(request, "schedule.run", schedule, crawl=str(crawl.pk))
    except schedules.StillRunningError as error:
        raise ProblemError(409, str(error), crawl=str(error.crawl.pk)) from None
    except schedules.OwnerDisabledError as error:
        raise ProblemError(409, str(error)) from None
    return Status(201, detail_of(crawl.pk, caller(request)))


@router.post("/{uuid:schedule_id}/{change}", response=ScheduleOut, auth=Bearer(Action.EDIT))
def steer_schedule(request: HttpRequest, schedule_id: UUID, change: Literal["pause", "resume"]) -> ScheduleOut:
    """Pause it, or go on with the next of its times."""
    schedule = _find(schedule_id, caller(request))
    try:
        with write_transaction():
            if not STEERED[change](schedule):
                state = "paused" if schedule.is_paused else "not paused"
                raise ProblemError(409, f"It is {state}: it cannot {change}.")
            record_audit(request, f"schedule.{change}", schedule)
    except ValueError as error:
        raise ProblemError(409, str(error)) from None
    return _out(request, schedule_id)


def _out(request: HttpRequest, key: UUID) -> ScheduleOut:
    return ScheduleOut.all_of([_find(key, caller(request))], caller(request))[0]


def _find(key: UUID, who: Who) -> CrawlSchedule:
    found = visible_schedules(who).filter(pk=key).first()
    if found is None:
        raise Http404
    return found
