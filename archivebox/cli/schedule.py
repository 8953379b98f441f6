"""Owns `archivebox schedule`: crawls that come again by themselves."""

from collections.abc import Iterator

from archivebox.base_models.users import system_user
from archivebox.cli.add import chosen_policy, config_of, names_of, refused_as_bad_input, tags_of
from archivebox.cli.conditions import find, find_all
from archivebox.cli.crawl import COLUMNS as CRAWL_COLUMNS
from archivebox.cli.crawl import crawl_records
from archivebox.cli.errors import BadInputError
from archivebox.cli.listing import ON_A_TERMINAL, pages, record_of
from archivebox.cli.output import Column
from archivebox.cli.persona import find_persona
from archivebox.cli.session import Session
from archivebox.core.intake import schedules
from archivebox.core.intake.parse_input import parse_strictly
from archivebox.core.intake.request import OPERATOR, CrawlRequest
from archivebox.crawls.models import Crawl, CrawlSchedule
from archivebox.crawls.schedule import Template
from archivebox.hooks import resolve_settings

COLUMNS = (
    Column("id", "id", wraps=True),
    Column("when", "schedule"),
    Column("zone", "timezone"),
    Column("next", lambda record: record["next_at"] or "paused"),
    Column("what", "title", wraps=True),
)
LABELS = {
    "id": "id", "label": "label", "schedule": "when", "timezone": "zone", "next_at": "next", "is_waiting": "waits",
    "template": "what", "overlap": "overlap", "catch_up": "catch-up", "recapture": "recapture",
    "skipped_at": "left out", "skipped_for": "because", "created_at": "added",
}  # fmt: skip
CRAWLS_SHOWN = 10


def add(
    session: Session,
    *,
    urls: tuple[str, ...],
    every: str,
    timezone: str,
    depth: int,
    tag: tuple[str, ...],
    plugins: str | None,
    persona: str | None,
    label: str,
    config: tuple[str, ...],
    overlap: str,
    catch_up: str,
    recapture: bool,
    if_changed: bool,
) -> int:
    request = CrawlRequest(
        urls=urls, depth=depth, tags=tags_of(tag), plugins=names_of(plugins), config=config_of(config),
        persona=find_persona(session, persona).name if persona else "",
        duplicates=chosen_policy(if_changed=if_changed),
    )  # fmt: skip
    with refused_as_bad_input():
        template = request.template(seed.url for seed in parse_strictly(request, OPERATOR))
    schedule = CrawlSchedule(
        schedule=every, timezone=timezone, label=label[:255], template=template,
        overlap=overlap, catch_up=catch_up, recapture=recapture, created_by=system_user(),
    )  # fmt: skip
    try:
        schedules.put(schedule)
    except ValueError as error:
        raise BadInputError(str(error)) from None
    session.out.event(_record(schedule), f"{schedule.recurrence}: schedule {schedule.pk}.")
    return 0


def list_(session: Session, *, limit: int | None) -> int:
    bound = limit or (ON_A_TERMINAL if session.out.is_for_people else None)
    session.out.table(
        COLUMNS, _records(bound), empty="No schedule. `archivebox schedule add URL --every daily` makes one."
    )
    return 0


def _records(limit: int | None) -> Iterator[dict[str, object]]:
    return (_record(row) for page in pages(CrawlSchedule.objects.all(), limit) for row in page)


def _record(schedule: CrawlSchedule) -> dict[str, object]:
    made: Template = schedule.template
    shown = made | {"config": resolve_settings([]).redacted(made["config"])}
    return record_of(schedule, title=str(schedule), template=shown)


def show(session: Session, *, id: str) -> int:  # noqa: A002 - the argument's name
    schedule = find(CrawlSchedule, id)
    session.out.facts(_record(schedule), LABELS)
    crawls = crawl_records(Crawl.objects.filter(schedule=schedule), CRAWLS_SHOWN)
    session.out.table(CRAWL_COLUMNS, crawls, empty="No crawls yet.")
    return 0


def pause(session: Session, *, ids: tuple[str, ...]) -> int:
    return _each(session, [(one, schedules.pause(one)) for one in find_all(CrawlSchedule, ids)], "paused")


def resume(session: Session, *, ids: tuple[str, ...]) -> int:
    try:
        return _each(session, [(one, schedules.resume(one)) for one in find_all(CrawlSchedule, ids)], "resumed")
    except ValueError as error:
        raise BadInputError(str(error)) from None


def _each(session: Session, changed: list[tuple[CrawlSchedule, bool]], done: str) -> int:
    for schedule, is_done in changed:
        if is_done:
            session.out.event(_record(schedule), f"schedule {schedule.pk} is {done}.")
        else:
            session.out.warn(f"schedule {schedule.pk} cannot be {done}: it is already.")
    return 0 if all(is_done for _, is_done in changed) else 2


def run_now(session: Session, *, ids: tuple[str, ...]) -> int:
    code = 0
    for schedule in find_all(CrawlSchedule, ids):
        try:
            crawl = schedules.run_now(schedule)
            session.out.event(record_of(crawl), f"Queued as crawl {crawl.pk}.")
        except (schedules.StillRunningError, schedules.OwnerDisabledError) as error:
            session.out.warn(f"schedule {schedule.pk}: {error}")
            code = 2
    return code


def remove(session: Session, *, ids: tuple[str, ...]) -> int:
    for schedule in find_all(CrawlSchedule, ids):
        record = _record(schedule)
        schedules.remove(schedule)
        session.out.event(record, f"schedule {record['id']} was removed; archived pages are kept.")
    return 0
