"""Schedules as the API shows them, and as it takes them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field, StringConstraints

from archivebox.accounts.permission import Who, may
from archivebox.accounts.roles import Action
from archivebox.api.shapes.archive import CrawlPlan, Label, RequestBody
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
