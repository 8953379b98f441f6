"""Schedules: crawls that come again by themselves."""

from typing import Literal
from uuid import UUID

from django.http import Http404, HttpRequest
from ninja import Query, Router, Status

from archivebox.accounts.permission import Who, visible_schedules
from archivebox.accounts.roles import Action
from archivebox.api.adding import requester
from archivebox.api.credentials import Bearer, caller, caller_account, record_audit
from archivebox.api.paging import Page, Window, page_of
from archivebox.api.problems import ProblemError
from archivebox.api.routes.crawls import detail_of
from archivebox.api.shapes.archive import CrawlDetail
from archivebox.api.shapes.schedules import ScheduleIn, ScheduleOut, SchedulePatch
from archivebox.base_models.transactions import write_transaction
from archivebox.core.intake import schedules
from archivebox.core.intake.add_urls import default_visibility
from archivebox.core.intake.parse_input import parse_strictly
from archivebox.crawls.schedule import CrawlSchedule

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
