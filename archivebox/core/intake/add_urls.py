"""Add URLs: those that people give and those that hooks find.

This writes Crawls and Snapshots in one transaction, so it is in `core`, which imports `crawls`; what decides whether a
URL is admitted is pure and stays in `crawls.admission`.
"""

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import connection, models
from django.utils import timezone

from archivebox.base_models.bulk_write import insert_rows
from archivebox.base_models.transactions import write_transaction
from archivebox.base_models.visibility import Visibility
from archivebox.base_models.wakeups import notify_workers
from archivebox.config.listening import listened_ports
from archivebox.config.resolve import Layer, Resolved, SettingError
from archivebox.contract.reasons import Reason
from archivebox.core.intake.batches import HELD, HELD_BACK, add_in_parts, is_long
from archivebox.core.intake.persona_access import check_persona
from archivebox.core.intake.request import CrawlRequest, DuplicatePolicy, Refusal, Seed
from archivebox.core.snapshot import Snapshot, bookmarked_at_of, tags_of
from archivebox.core.tag import Tag, split_tags
from archivebox.crawls.admission import CrawlScope, Rules, admit, check_url, refuse_private, shown
from archivebox.crawls.crawl import URLS_KEPT, Crawl
from archivebox.crawls.refused import Refused
from archivebox.crawls.schedule import CrawlSchedule
from archivebox.hooks import base_layers, resolve_settings
from archivebox.lib.addresses import resolve
from archivebox.lib.batches import batches
from archivebox.lib.jsonl import JSON
from archivebox.lib.networks import OpenedNetworks, is_private, is_public, literal
from archivebox.lib.patterns import compile_patterns
from archivebox.lib.urls import BadUrl, Url, parse_url

BATCH = 1000
"""Rows of one INSERT: SQLite takes 32,766 values a statement."""
_ALLOWLIST = "PRIVATE_NETWORK_ALLOWLIST"
POSTGRES_PORT = 5432
"""Where PostgreSQL listens if nothing else is said."""
RESOLVE_TIME = 5.0
"""Seconds that names of hosts may take to be looked up, all together."""


@dataclass(slots=True)
class Found:
    """What became of the URLs that a hook found."""

    taken: int = 0
    refused: dict[str, int] = field(default_factory=dict)


def check_seeds(
    texts: Iterable[str | Seed], settings: Resolved, *, may_name_private: bool = True
) -> tuple[list[Seed], list[Refusal]]:
    """The valid ones of ``texts``, each URL once, and a refusal for every other line.

    The operator names hosts of his own network as he likes. For who may not, names are looked up: call it outside of
    any transaction. A name without an answer is no private one.
    """
    schemes = frozenset(settings.get_list("URL_SCHEMES"))
    if not may_name_private:
        texts = list(texts)
    private = frozenset() if may_name_private else _private_hosts(texts)
    networks = networks_of(settings)
    seeds: dict[str, Seed] = {}
    refusals: list[Refusal] = []
    for line, text in enumerate(texts, 1):
        given = text if isinstance(text, Seed) else Seed(text)
        answer = check_url(given.url, schemes)
        if answer.url is not None and answer.url.host in private:
            answer = refuse_private(answer.url, *networks) or answer
        if answer.url is None or not answer.admitted:
            refusals.append(Refusal(line, given.url[:200], str(answer.code or ""), answer.sentence))
        else:
            url = answer.url.href
            if url not in seeds:
                seeds[url] = given if given.url == url else replace(given, url=url)
    return list(seeds.values()), refusals


def _private_hosts(texts: Iterable[str | Seed]) -> frozenset[str]:
    """The hosts of ``texts`` that say themselves, or whose addresses say, that they are in a private network."""
    hrefs = (text.url if isinstance(text, Seed) else text for text in texts)
    hosts = {url.host for href in hrefs if (url := _parsed(href)) is not None}
    addresses = resolve((host for host in hosts if literal(host) is None and not is_private(host)), RESOLVE_TIME)
    return frozenset(
        host for host in hosts if is_private(host) or any(not is_public(one) for one in addresses.get(host, ()))
    )


class _OwnPorts(Container[int]):
    """The ports of our own server and database, asked for at each connection: a server may start at any time."""

    def __contains__(self, port: object) -> bool:
        return port in listened_ports() or port == _database_port()


def _database_port() -> int | None:
    if connection.vendor != "postgresql":
        return None
    known = connection.settings_dict
    return int(known["PORT"] or known["OPTIONS"].get("port") or POSTGRES_PORT)


def networks_of(settings: Resolved) -> tuple[OpenedNetworks, Container[int]]:
    """Private hosts that settings open, and the ports of our own server and database, which have to be named.

    SettingError where an entry is neither host nor network.
    """
    try:
        opened = OpenedNetworks.parse(settings.get_list(_ALLOWLIST))
    except ValueError as error:
        raise SettingError(settings.explain(_ALLOWLIST)[-1][0], _ALLOWLIST, str(error)) from None
    return opened, _OwnPorts()


def create_crawl(
    seeds: Sequence[Seed],
    request: CrawlRequest = CrawlRequest(),  # noqa: B008 - it cannot be changed
    *,
    created_by: User,
    may_name_private: bool = False,
    schedule: CrawlSchedule | None = None,
    source: str = "",
) -> Crawl:
    """Write the Crawl of a request and the Snapshots of its seeds, all or nothing.

    ``seeds`` have been checked; ``may_name_private``: whether those in private networks are reached; ``source``: the
    copy of what was given. SettingError where it could not be said which links belong, or where the persona is not
    shared with ``created_by``.
    """
    check_persona(created_by, request.persona)
    in_parts = is_long(len(seeds))
    state = HELD_BACK if in_parts else HELD if request.hold else {}
    crawl = _plan_crawl(seeds, request, created_by, schedule=schedule, source=source, **state)
    rules_of(crawl, resolve_settings(crawl.layers()))  # SettingError now: later, links that pages find would be lost
    write = partial(_write_seeds, crawl, request.tags, may_name_private)
    if in_parts:
        add_in_parts(crawl, seeds, write, hold=request.hold)
        notify_workers()
        return crawl
    with write_transaction():
        crawl.save(force_insert=True)
        write(seeds)
        notify_workers()
    return crawl


def _plan_crawl(seeds: Sequence[Seed], request: CrawlRequest, created_by: User, **columns: Any) -> Crawl:
    config = request.settings
    return Crawl.plan(
        created_by=created_by,
        urls=[seed.url for seed in itertools.islice(seeds, URLS_KEPT)],
        max_depth=request.depth,
        tags_str=",".join(request.tags),
        config=config,
        label=request.label[:255],
        persona=request.persona,
        replaces=request.duplicates is DuplicatePolicy.REPLACE,
        visibility=request.visibility or default_visibility(config),
        **columns,
    )


def _write_seeds(crawl: Crawl, tags: Sequence[str], may_name_private: bool, seeds: Sequence[Seed]) -> None:
    now, username = timezone.now(), crawl.created_by.username
    rows = (planned(crawl, seed, username, now, may_be_private=may_name_private) for seed in seeds)
    for batch in batches(rows, BATCH):
        insert_rows(Snapshot, batch)  # bulk_create costs four times as much
    _tag(crawl, tags, seeds)


def add_seeds(crawl: Crawl, seeds: Sequence[Seed], *, may_name_private: bool = False) -> None:
    """More seeds for a crawl, with the tags that it gave to its first ones; one that it has stays as it is."""
    there = _known_among(crawl.snapshot_set.all(), {seed.url for seed in seeds})
    fresh = [seed for seed in seeds if seed.url not in there]
    with write_transaction():
        _write_seeds(crawl, split_tags(crawl.tags_str), may_name_private, fresh)
        crawl.wake()
        notify_workers()


def default_visibility(config: Mapping[str, JSON]) -> Visibility:
    """Who sees a crawl with these settings, and its pages, if nobody says."""
    return Visibility(resolve_settings([*base_layers(), Layer("crawl", config)]).get_text("VISIBILITY"))


def planned(
    crawl: Crawl, seed: Seed, username: str, now: datetime, *, may_be_private: bool
) -> tuple[UUID, dict[str, object]]:
    """The row of a seed, for :func:`insert_rows`."""
    key, columns = Snapshot.plan_row(crawl=crawl, url=seed.url, username=username, now=now, title=seed.title[:512])
    own = {"visibility": seed.visibility, "config": dict(seed.config), "bookmarked_at": seed.bookmarked_at}
    columns["may_be_private"] = may_be_private
    return key, columns | {name: value for name, value in own.items() if value}


def _tag(crawl: Crawl, tags: Sequence[str], seeds: Sequence[Seed]) -> None:
    """Put the crawl's tags on all of its Snapshots, and each seed's own on its one."""
    wanted: dict[str, list[str]] = {}
    for seed in seeds:
        for name in (*tags, *seed.tags):
            wanted.setdefault(name, []).append(seed.url)
    if not wanted:
        return
    keys: dict[str, UUID] = {}
    for some in batches({url for urls in wanted.values() for url in urls}, BATCH):
        keys.update(crawl.snapshot_set.filter(url__in=some).values_list("url", "pk"))
    through = Snapshot.tags.through
    for name, urls in wanted.items():
        tag = Tag.named(name)
        if tag is None:
            continue
        rows = (through(snapshot_id=keys[url], tag_id=tag.pk) for url in urls)
        for batch in batches(rows, BATCH):
            through.objects.bulk_create(batch, ignore_conflicts=True)


def add_found_urls(parent: Snapshot, records: Sequence[Mapping[str, JSON]]) -> Found:
    """Take the URLs that a hook of ``parent`` found, as far as they belong into its crawl.

    Call it in the transaction that makes the hook's own outcome final. A Snapshot without depth gets its parent's + 1,
    and none gets less: a hook that says 0 would lead the crawl out of its scope, and on for ever.
    """
    found = Found()
    crawl = parent.crawl
    rules = rules_of(crawl, parent.settings())
    count = crawl.snapshot_set.count() if rules.max_urls is not None else 0
    urls = _hrefs(records)
    known = _known_among(crawl.snapshot_set.all(), urls)
    before = _archived_before(crawl, urls - known)
    fresh: dict[str, Mapping[str, JSON]] = {}
    refused: dict[str, list[str]] = {}
    for record in records:
        depth = record.get("depth")
        known_depth = depth if isinstance(depth, int) and not isinstance(depth, bool) else 0
        depth = max(known_depth, parent.depth + 1)
        answer = admit(str(record.get("url") or ""), rules, depth=depth, url_count=count)
        if not answer.admitted or answer.url is None:
            refused.setdefault(str(answer.code), []).append(shown(str(record.get("url") or "")))
            continue
        url = answer.url.without_fragment
        if url in known:
            continue
        if url in before:
            refused.setdefault(Reason.ARCHIVED_BEFORE.value, []).append(shown(url))
            continue
        known.add(url)
        fresh[url] = {**record, "depth": depth}
        count += 1
    found.taken = len(fresh)
    found.refused = {code: len(urls) for code, urls in refused.items()}
    Refused.note(crawl.pk, refused)
    if fresh:
        _write_found(parent, fresh)
        crawl.wake()
        _follow_crawl(crawl, fresh)
        notify_workers()
    return found


def _write_found(parent: Snapshot, fresh: Mapping[str, Mapping[str, JSON]]) -> None:
    """Their rows by URL, without an object for each; one that another worker was quicker to write stays as it is."""
    crawl, now = parent.crawl, timezone.now()
    rows = (
        Snapshot.plan_row(
            crawl=crawl,
            url=url,
            username=crawl.created_by.username,
            now=now,
            parent_snapshot_id=parent.pk,
            depth=record["depth"],
            title=str(record.get("title") or "")[:512],
            bookmarked_at=bookmarked_at_of(record),
            config=dict(parent.config),
        )
        for url, record in fresh.items()
    )
    for batch in batches(rows, BATCH):
        insert_rows(Snapshot, batch, ignore_conflicts=True)
    for url, record in fresh.items():
        if record.get("tags"):
            crawl.snapshot_set.get(url=url).tags.add(*tags_of(record))
    _tag(crawl, _remaining_tags(crawl), [Seed(url) for url in fresh])


def _remaining_tags(crawl: Crawl) -> list[str]:
    """The tags that the crawl was given, without those that somebody has deleted since: they do not come back."""
    slugs = {Tag.slug_of(name): name for name in split_tags(crawl.tags_str)}
    there = set(Tag.objects.filter(slug__in=slugs).values_list("slug", flat=True)) if slugs else set()
    return [name for slug, name in slugs.items() if slug in there]


def _follow_crawl(crawl: Crawl, urls: Iterable[str]) -> None:
    """What was found while somebody changed who sees the crawl is seen by these. Its row is ours: it was woken."""
    now = Crawl.objects.values_list("visibility", flat=True).get(pk=crawl.pk)
    if now != crawl.visibility:
        for batch in batches(urls, BATCH):
            crawl.snapshot_set.filter(url__in=batch).update(visibility=now)


def _hrefs(records: Sequence[Mapping[str, JSON]]) -> set[str]:
    return {url for record in records if (url := _href(record.get("url"))) is not None}


def _known_among(snapshots: "models.QuerySet[Snapshot]", urls: Iterable[str]) -> set[str]:
    """Those of the URLs found of which there is a Snapshot: one query for all links of a page."""
    known: set[str] = set()
    for batch in batches(sorted(urls), BATCH):
        known |= set(snapshots.filter(url__in=batch).values_list("url", flat=True))
    return known


def _archived_before(crawl: Crawl, urls: Iterable[str]) -> set[str]:
    """Those that another crawl of the same schedule has, where it does not want its links archived again."""
    if crawl.schedule is None or crawl.schedule.recapture:
        return set()
    theirs = Snapshot.objects.filter(crawl__schedule=crawl.schedule)
    return _known_among(theirs.exclude(status=Snapshot.StatusChoices.CANCELLED), urls)


def _href(text: JSON) -> str | None:
    url = _parsed(str(text))
    return None if url is None else url.without_fragment


def _parsed(text: str) -> Url | None:
    try:
        return parse_url(text)
    except BadUrl:
        return None


def rules_of(crawl: Crawl, settings: Resolved) -> Rules:
    """What this crawl takes in, by its settings and its seeds."""
    max_urls = settings.find_int("MAX_URLS")
    scope = CrawlScope(settings.get_text("URL_SCOPE"))
    opened, own_ports = networks_of(settings)
    return Rules(
        seeds=() if scope is CrawlScope.ALL else tuple(_seeds(crawl)),
        scope=scope,
        allow=compile_patterns(settings.get_text("URL_ALLOWLIST")),
        deny=compile_patterns(settings.get_text("URL_DENYLIST")),
        max_depth=crawl.max_depth,
        max_urls=max_urls,
        schemes=frozenset(settings.get_list("URL_SCHEMES")),
        opened=opened,
        own_ports=own_ports,
        is_named=_Named(crawl),
    )


class _Named:
    """Whether somebody who may name private places gave the crawl this host and port."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._known: dict[str, bool] = {}

    def __call__(self, url: Url) -> bool:
        place = url.domain_key
        if place not in self._known:
            self._known[place] = self._crawl.snapshot_set.named_at(url).exists()
        return self._known[place]


def _seeds(crawl: Crawl) -> Iterator[Url]:
    """The URLs that the crawl was given: its first Snapshots, as ``urls`` keeps only the beginning of a long list."""
    for url in crawl.snapshot_set.filter(depth=0).values_list("url", flat=True).iterator():
        yield parse_url(url)
