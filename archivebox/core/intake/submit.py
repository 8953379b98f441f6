"""The one intake: whatever the entrance, a request becomes a crawl here, or is refused."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.users import system_user
from archivebox.core.crawl_control.retry import retry_missing
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.batches import is_long
from archivebox.core.intake.parse_input import BATCH, ArchivedURL, ParsedInput, find_versions, parse, require_urls
from archivebox.core.intake.request import (
    CrawlRequest,
    DuplicatePolicy,
    Requester,
    Seed,
    TooManyUrlsError,
    visitor_setting,
)
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl
from archivebox.crawls.schedule import CrawlSchedule
from archivebox.hooks import anonymous_settings
from archivebox.lib.batches import batches
from archivebox.lib.networks import subscriber_of
from archivebox.machine.throttle import Throttle

HOUR = 3600.0
_added: dict[int, Throttle] = {}
"""URLs of visitors by address, for each limit that was set."""
Noting = Callable[..., object]
"""Is called in the transaction that makes the crawl, with it and ``urls``, how many it has."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of a request."""

    crawl: Crawl | None
    """None: all of it is archived already, and its policy for duplicates captures none of it."""
    seeds: list[Seed]
    """The URLs of the crawl."""
    parsed: ParsedInput
    updated: set[UUID] = field(default_factory=set)
    """Crawls of earlier versions of which what is missing is run."""

    @property
    def made(self) -> Crawl:
        """The crawl of a request that captures whatever it names."""
        assert self.crawl is not None  # noqa: S101 - it has a URL, and no policy that leaves it out
        return self.crawl


def submit(request: CrawlRequest, requester: Requester, noting: Noting | None = None) -> Submitted:
    """Check a request and write its crawl, all or nothing; after it returns no URL can be lost.

    RequestRefusedError and its kinds; SettingError where it could not be said which links belong. Names may be looked
    up: call it outside of any transaction.
    """
    return accept(request, requester, parse(request, requester), noting)


def accept(
    request: CrawlRequest,
    requester: Requester,
    parsed: ParsedInput,
    noting: Noting | None = None,
    *,
    source: str = "",
    schedule: CrawlSchedule | None = None,
) -> Submitted:
    """Write the crawl of a request that was read; ``source``: the copy of what was given, if one is kept.

    Lists that are long are written in parts, but not with ``noting``.
    """
    require_urls(parsed)
    if request.duplicates.needs_versions:
        find_versions(parsed, requester.viewer_scope)
    seeds = parsed.chosen(request)
    if request.duplicates is DuplicatePolicy.REPLACE:
        seeds = _as_archived(seeds, parsed.known, request)
    if requester.is_visitor:
        count_visitors_urls(requester.address, len(seeds))
    with nullcontext() if noting is None and is_long(len(seeds)) else write_transaction():
        crawl = _create(request, requester, seeds, source=source, schedule=schedule) if seeds else None
        is_update = request.duplicates is DuplicatePolicy.UPDATE and not request.hold
        updated = _update(parsed.known) if is_update else set()
        if crawl is not None and noting is not None:
            noting(crawl, urls=len(seeds))
    return Submitted(crawl, seeds, parsed, updated)


def _create(request: CrawlRequest, requester: Requester, seeds: list[Seed], **columns: Any) -> Crawl:
    """The pages of who has no account are visited as nobody."""
    if requester.is_visitor and requester.user is None:
        request = replace(request, config={**request.config, **anonymous_settings()})
    owner, may_name_private = requester.user or system_user(), requester.may_name_private
    return create_crawl(seeds, request, created_by=owner, may_name_private=may_name_private, **columns)


def _as_archived(seeds: list[Seed], known: list[ArchivedURL], request: CrawlRequest) -> list[Seed]:
    """The URLs with what was said of their latest versions: tags, the date of a bookmark, and who sees them."""
    latest: dict[str, Snapshot] = {}
    for batch in batches((one.latest for one in known), BATCH):
        rows = Snapshot.objects.filter(pk__in=batch).prefetch_related("tags")
        latest |= {row.url: row for row in rows}
    return [
        replace(
            seed,
            title=seed.title or row.title,
            tags=(*seed.tags, *(tag.name for tag in row.tags.all())),
            visibility=seed.visibility or request.visibility or row.visibility,
            bookmarked_at=seed.bookmarked_at or row.bookmarked_at,
        )
        if (row := latest.get(seed.url))
        else seed
        for seed in seeds
    ]


def _update(known: list[ArchivedURL]) -> set[UUID]:
    """Run what is missing in the latest versions; the crawls that they belong to."""
    crawls: set[UUID] = set()
    for batch in batches((one.latest for one in known), BATCH):
        rows = Snapshot.objects.filter(pk__in=batch)
        retry_missing(rows)
        crawls |= set(rows.values_list("crawl_id", flat=True))
    return crawls


def count_visitors_urls(address: str, count: int) -> None:
    """Count URLs that a visitor is about to add, or raise TooManyUrlsError and count none."""
    most = visitor_setting("PUBLIC_ADD_PER_HOUR")
    allowed = f"One address adds at most {most} URLs an hour, unless its account may add."
    if count > most:
        raise TooManyUrlsError(f"{allowed} Send fewer.", int(HOUR))
    throttle = _added.setdefault(most, Throttle("added", most, HOUR))
    if wait := throttle.attempt(subscriber_of(address), count=count):
        raise TooManyUrlsError(f"{allowed} Try again in {-(-wait // 60)} minutes.", wait)
