"""Snapshots, results, tags and crawls as the API shows them, and as it takes them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import AwareDatetime, ConfigDict, Field, StringConstraints

from archivebox.accounts.permission import Who, may
from archivebox.accounts.roles import Action
from archivebox.contract.verdicts import State
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.intake.request import CrawlRequest, DuplicatePolicy
from archivebox.core.progress.page_states import states_of
from archivebox.core.snapshot import Snapshot
from archivebox.core.tag import Tag
from archivebox.crawls.crawl import Crawl
from archivebox.hooks import resolve_settings
from archivebox.lib.urls import MAX_LENGTH
from archivebox.search.finding import Match

Text = Annotated[str, StringConstraints(max_length=MAX_LENGTH, pattern=r"^[^\x00]*$")]
TagName = Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True, pattern=r"^[^\x00,]+$")]
SeenBy = Literal["public", "members", "private"]
Label = Annotated[str, StringConstraints(max_length=255, pattern=r"^[^\x00]*$")]
NOWHERE: Mapping[UUID, Match] = MappingProxyType({})
_QUALITY = "Percent of the page that its replay shows without scripts; null: not measured"
_BOOKMARKED = "When it was kept, published or last changed, as the list says that named it"


class RequestBody(Schema):
    """The body of a request; an unknown field is refused."""

    model_config = ConfigDict(extra="forbid")


class MatchOut(Schema):
    """Where in a page words are that were searched for."""

    where: Annotated[str, Field(description="`note`, or the file of a plugin")]
    snippet: str
    highlights: Annotated[list[tuple[int, int]], Field(description="From which character of it up to which")]


class SnapshotOut(Schema):
    """One page at one time."""

    id: UUID
    url: str
    title: str
    status: Annotated[str, Field(description="How far the work on it is; `sealed`: done, with or without success")]
    state: Annotated[State, Field(description="What came of it")]
    reason: str
    visibility: Annotated[str, Field(description="For whom it is there")]
    tags: list[str]
    depth: int
    final_url: str
    http_status: int
    mime_type: str
    bookmarked_at: Annotated[datetime | None, Field(description=_BOOKMARKED)]
    quality: Annotated[int | None, Field(description=_QUALITY)]
    quality_with_scripts: Annotated[int | None, Field(description="The same of its replay with scripts")]
    measured_at: Annotated[datetime | None, Field(description="When that was measured, or found to be impossible")]
    is_lossy: Annotated[bool, Field(description="Whether it is worth capturing again")]
    crawl_id: UUID
    parent_snapshot_id: UUID | None
    created_at: datetime
    modified_at: datetime
    sealed_at: datetime | None
    retired_at: datetime | None
    created_by: Annotated[str | None, Field(description="For accounts alone")]
    folder: Annotated[str | None, Field(description="Relative to the data folder; only with the right to inspect")]
    size: Annotated[int, Field(description="Bytes that were kept of it, as of its last seal")]
    match: Annotated[
        MatchOut | None,
        Field(description="In searches for words: where they were found, except in title, URL and tags"),
    ]

    @classmethod
    def all_of(cls, rows: Sequence[Snapshot], who: Who, matches: Mapping[UUID, Match] = NOWHERE) -> "list[SnapshotOut]":
        """Their tags have been fetched with them."""
        own, inspect, states = may(who, Action.READ), may(who, Action.INSPECT), states_of(rows)
        return [
            cls._of(row, states[row.pk], row.created_by.username if own else None, matches.get(row.pk), inspect=inspect)
            for row in rows
        ]

    @classmethod
    def _of(
        cls, row: Snapshot, state: State, created_by: str | None, match: Match | None, *, inspect: bool
    ) -> "SnapshotOut":
        return cls(
            id=row.pk,
            url=row.url,
            title=row.title,
            status=row.status,
            state=state,
            reason=row.reason,
            visibility=row.visibility,
            tags=[tag.name for tag in row.tags.all()],
            depth=row.depth,
            final_url=row.final_url,
            http_status=row.http_status,
            mime_type=row.mime_type,
            bookmarked_at=row.bookmarked_at,
            quality=row.quality,
            quality_with_scripts=row.quality_with_scripts,
            measured_at=row.measured_at,
            is_lossy=bool(row.is_lossy),
            crawl_id=row.crawl_id,
            parent_snapshot_id=row.parent_snapshot_id,
            created_at=row.created_at,
            modified_at=row.modified_at,
            sealed_at=row.sealed_at,
            retired_at=row.retired_at,
            created_by=created_by,
            folder=row.output_dir if inspect else None,
            size=row.size,
            match=None if match is None else MatchOut(**asdict(match)),
        )


class SnapshotIn(RequestBody):
    """A page to archive."""

    url: Text
    title: Annotated[str, StringConstraints(max_length=512, pattern=r"^[^\x00]*$")] = ""
    tags: Annotated[list[TagName], Field(max_length=100)] = []
    bookmarked_at: Annotated[AwareDatetime | None, Field(description=_BOOKMARKED)] = None
    visibility: SeenBy | None = None


class SnapshotPatch(RequestBody):
    """What may be changed of a Snapshot; what is left out stays."""

    title: Annotated[str, StringConstraints(max_length=512, pattern=r"^[^\x00]*$")] | None = None
    tags: Annotated[list[TagName], Field(max_length=100)] | None = None
    visibility: Annotated[SeenBy | None, Field(description="For its owner and administrators to change")] = None


class ResultFileOut(Schema):
    """One file that a hook left."""

    path: str
    size: int
    mimetype: str


class ResultOut(Schema):
    """What one hook made of one Snapshot."""

    id: UUID
    snapshot_id: UUID
    plugin: str
    hook_name: str | None
    status: str
    reason: str
    sentence: Annotated[str, Field(description="Why it is as it is")]
    action: Annotated[str, Field(description="What to do about it")]
    attempts: int
    output_str: str
    output_size: int
    files: list[ResultFileOut]
    started_at: datetime | None
    ended_at: datetime | None
    retry_at: datetime | None
    modified_at: datetime
    process_id: Annotated[UUID | None, Field(description="Only with the right to inspect")]
    interface: Annotated[
        str,
        Field(
            description="Network interface and local address of its hook's connections; only with the right to inspect"
        ),
    ]

    @classmethod
    def all_of(cls, rows: Sequence[ArchiveResult], who: Who) -> "list[ResultOut]":
        inspect = may(who, Action.INSPECT)
        return [cls._of(row, inspect=inspect) for row in rows]

    @classmethod
    def _of(cls, row: ArchiveResult, *, inspect: bool) -> "ResultOut":
        files = sorted(row.output_files.items())
        return cls(
            id=row.pk,
            snapshot_id=row.snapshot_id,
            plugin=row.plugin,
            hook_name=row.hook_name,
            status=row.status,
            reason=row.reason,
            sentence=row.sentence,
            action=row.action if inspect else "",
            attempts=row.attempts,
            output_str=row.output_str,
            output_size=row.output_size,
            files=[
                ResultFileOut(path=name, size=about.get("size", 0), mimetype=about.get("mimetype", ""))
                for name, about in files
            ],
            started_at=row.start_ts,
            ended_at=row.end_ts,
            retry_at=row.retry_at,
            modified_at=row.modified_at,
            process_id=row.process_id if inspect else None,
            interface=str(row.iface) if inspect and row.iface else "",
        )


class TagOut(Schema):
    """A word on Snapshots."""

    id: UUID
    name: str
    slug: str
    modified_at: datetime

    @classmethod
    def all_of(cls, rows: Sequence[Tag]) -> "list[TagOut]":
        return [cls(id=row.pk, name=row.name, slug=row.slug, modified_at=row.modified_at) for row in rows]


class TagIn(RequestBody):
    name: TagName


class CrawlOut(Schema):
    """What somebody asked for."""

    id: UUID
    label: str
    status: str
    reason: str
    visibility: Annotated[str, Field(description="Who sees it and its future pages")]
    urls: Annotated[list[str], Field(description="What was asked for; of a long list, the beginning")]
    max_depth: int
    tags: list[str]
    persona: str
    config: Annotated[
        dict[str, Any], Field(description="Its own settings; secrets are ***; only with the right to inspect")
    ]
    created_by: str
    created_at: datetime
    modified_at: datetime
    schedule_id: Annotated[UUID | None, Field(description="The schedule that made it")]
    folder: str | None

    @classmethod
    def all_of(cls, rows: Sequence[Crawl], who: Who) -> "list[CrawlOut]":
        inspect = may(who, Action.INSPECT)
        return [cls._of(row, inspect=inspect) for row in rows]

    @classmethod
    def _of(cls, row: Crawl, *, inspect: bool) -> "CrawlOut":
        return cls(
            id=row.pk,
            label=row.label,
            status=row.status,
            reason=row.reason,
            visibility=row.visibility,
            urls=row.urls.splitlines(),
            max_depth=row.max_depth,
            tags=[name for name in row.tags_str.split(",") if name],
            persona=row.persona,
            config=resolve_settings([]).redacted(row.config) if inspect else {},
            created_by=row.created_by.username,
            created_at=row.created_at,
            modified_at=row.modified_at,
            schedule_id=row.schedule_id,
            folder=row.output_dir if inspect else None,
        )


class CrawlDetail(CrawlOut):
    """A crawl, and how far it is."""

    snapshots: Annotated[dict[str, int], Field(description="How many of its Snapshots are in each status; 10001: more")]


Scope = Literal["page", "host", "domain", "all"]


class CrawlPlan(RequestBody):
    """What to archive, and how. Nothing is done unless every URL can be taken."""

    urls: Annotated[list[Text], Field(min_length=1, description="At most 10,000")]
    depth: Annotated[int, Field(description="Links to follow from the URLs, at most 100")] = 0
    tags: Annotated[list[TagName], Field(max_length=100)] = []
    label: Label = ""
    plugins: Annotated[list[Text], Field(max_length=200, description="These alone, and what they require")] = []
    persona: Annotated[str, StringConstraints(max_length=64)] = ""
    scope: Scope | None = None
    url_allowlist: Annotated[Text, Field(description="Follow only links that match: patterns, one a line")] = ""
    url_denylist: Annotated[Text, Field(description="Follow no links that match: patterns, one a line")] = ""
    max_urls: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None
    max_size: Annotated[int, Field(ge=1, le=2**53, description="Bytes that the crawl may receive")] | None = None
    visibility: Annotated[SeenBy | None, Field(description="Who sees it; else as `VISIBILITY` says")] = None
    keep_unchanged: Annotated[
        bool | Literal["linked"] | None,
        Field(description="False: keep only new versions that changed; linked: keep unchanged ones as hard links"),
    ] = None

    def request(self) -> CrawlRequest:
        """The same for the intake."""
        if_changed = self.keep_unchanged is False
        return CrawlRequest(
            **self.dict(include={one.name for one in fields(CrawlRequest)}, exclude_none=True),
            config={"KEEP_UNCHANGED": self.keep_unchanged} if self.keep_unchanged else {},
            duplicates=DuplicatePolicy.IF_CHANGED if if_changed else DuplicatePolicy.CAPTURE,
        )


class CrawlIn(CrawlPlan):
    """A crawl that is made at once."""

    hold: Annotated[bool, Field(description="Write it down, and run nothing until it is resumed")] = False


class CrawlPatch(RequestBody):
    """What may be changed of a crawl; what is left out stays."""

    label: Label | None = None
    visibility: Annotated[SeenBy | None, Field(description="Of the crawl and all of its present and future pages")] = (
        None
    )


class CountOut(Schema):
    """How many rows something was done to."""

    count: int
